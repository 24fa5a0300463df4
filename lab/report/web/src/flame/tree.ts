// The tree of calls, in columns: one entry for each node, in the order of a walk that visits a
// node before its children.

export interface View {
  unit: string;
  total: number;
  before?: number;
  scale: number; // factor of a value for one request; 0: the requests are unknown
  scaled?: number; // that of the first profile
  diff?: boolean;
  each?: boolean;
  origins: string[];
  used: boolean[];
  slices?: number; // parts of the profile's time; absent: when stacks ran is unknown
  slice?: number; // seconds of each
}

export interface Forest {
  names: string[];
  origins: number[];
  symbols: number[];
  parents: number[];
  totals: number[];
  before?: number[];
  ran?: number[]; // node where a stack ends, part of the time, value; and so on
}

export interface Tree {
  size: number;
  names: string[];
  shorts: string[]; // without the directories of the package
  origins: number[]; // of the names
  symbols: Int32Array; // of the nodes; -1: the root
  parents: Int32Array;
  depth: Int32Array;
  ends: Int32Array; // index behind the last descendant
  totals: Float64Array;
  before: Float64Array;
  weight: Float64Array; // share of the width of the whole graph
  ran: Float64Array; // as in Forest
  start: Float64Array; // left edge, as such a share
  deepest: number;
}

/** Reads the tree, which the page has compressed. */
export async function unpack(packed: string, view: View): Promise<Tree> {
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return build((await new Response(stream).json()) as Forest, view);
}

export function build(f: Forest, view: View): Tree {
  const size = f.symbols.length;
  const t: Tree = {
    size,
    names: f.names,
    shorts: f.names.map((n) => n.replace(/^[^[( ]*\//, "")),
    origins: f.origins,
    symbols: Int32Array.from(f.symbols),
    parents: Int32Array.from(f.parents),
    depth: new Int32Array(size),
    ends: new Int32Array(size),
    totals: Float64Array.from(f.totals),
    before: Float64Array.from(f.before ?? []),
    ran: Float64Array.from(f.ran ?? []),
    weight: new Float64Array(size),
    start: new Float64Array(size),
    deepest: 0,
  };
  // The width of a difference is the mean of both profiles: what only one of them has shows too.
  const after = factor(view.diff ? (view.each ? view.scale : 1 / view.total) : 1);
  const before = view.diff ? factor(view.each ? (view.scaled ?? 0) : 1 / (view.before ?? 0)) : 0;
  for (let i = 0; i < size; i++) {
    t.weight[i] = Math.max(0, t.totals[i]! * after) + (view.diff ? Math.max(0, t.before[i]! * before) : 0);
    t.depth[i] = i === 0 ? 0 : t.depth[t.parents[i]!]! + 1;
    t.deepest = Math.max(t.deepest, t.depth[i]!);
    t.ends[i] = i + 1;
  }
  for (let i = size - 1; i > 0; i--) {
    const p = t.parents[i]!;
    t.ends[p] = Math.max(t.ends[p]!, t.ends[i]!);
  }
  const whole = t.weight[0]! || 1;
  const next = new Float64Array(size); // where the next child of a node begins
  for (let i = 0; i < size; i++) {
    t.weight[i] = t.weight[i]! / whole;
    if (i > 0) {
      const p = t.parents[i]!;
      t.start[i] = next[p]!;
      next[p] = t.start[i]! + t.weight[i]!;
    }
    next[i] = t.start[i]!;
  }
  return t;
}

/** Returns the same tree with the values of some parts of the time. */
export function narrow(t: Tree, view: View, from: number, to: number): Tree {
  const totals = new Array<number>(t.size).fill(0);
  for (let i = 0; i < t.ran.length; i += 3) {
    if (t.ran[i + 1]! >= from && t.ran[i + 1]! < to) totals[t.ran[i]!]! += t.ran[i + 2]!;
  }
  for (let i = t.size - 1; i > 0; i--) totals[t.parents[i]!]! += totals[i]!;
  const columns = { symbols: [...t.symbols], parents: [...t.parents], ran: [...t.ran] };
  return build({ names: t.names, origins: t.origins, totals, ...columns }, view);
}

function factor(v: number): number {
  return Number.isFinite(v) ? v : 0;
}

/** Reports whether a node is another one or its ancestor. */
export function above(t: Tree, node: number, other: number): boolean {
  return node <= other && other < t.ends[node]!;
}

/** Returns the name of a node without the directories of its package. */
export function short(t: Tree, node: number): string {
  const s = t.symbols[node]!;
  return s < 0 ? "all" : t.shorts[s]!;
}

/** Returns the share of the profile under nodes that match, each sample once. */
export function matched(t: Tree, hits: Uint8Array): number {
  let sum = 0;
  for (let i = 1; i < t.size; ) {
    if (hits[t.symbols[i]!]) {
      sum += t.weight[i]!;
      i = t.ends[i]!;
    } else i++;
  }
  return sum;
}
