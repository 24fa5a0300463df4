// Callers and callees of a function, wherever it was called: its stacks are merged at it.

import { Painter, type State, row } from "./paint";
import { type Forest, type Tree, type View, build } from "./tree";
import { linesOf } from "./words";

interface Branch {
  symbol: number;
  total: number;
  before: number;
  children: Map<number, Branch>;
}

function child(of: Branch, symbol: number): Branch {
  let one = of.children.get(symbol);
  if (!one) {
    one = { symbol, total: 0, before: 0, children: new Map() };
    of.children.set(symbol, one);
  }
  return one;
}

/** Returns what a function called, and who called it; below a recursive call nothing counts twice. */
export function merge(t: Tree, view: View, symbol: number): { callers: Tree; callees: Tree } {
  const callers: Branch = { symbol, total: 0, before: 0, children: new Map() };
  const callees: Branch = { symbol, total: 0, before: 0, children: new Map() };
  const add = (to: Branch, node: number) => {
    to.total += t.totals[node]!;
    to.before += t.before[node] ?? 0;
  };
  for (let i = 1; i < t.size; ) {
    if (t.symbols[i] !== symbol) {
      i++;
      continue;
    }
    add(callers, i);
    let up = callers;
    for (let p = t.parents[i]!; p > 0; p = t.parents[p]!) add((up = child(up, t.symbols[p]!)), i);
    const at = new Map<number, Branch>([[i, callees]]);
    add(callees, i);
    for (let k = i + 1; k < t.ends[i]!; k++) {
      const down = child(at.get(t.parents[k]!)!, t.symbols[k]!);
      at.set(k, down);
      add(down, k);
    }
    i = t.ends[i]!;
  }
  return { callers: build(flat(t, callers), view), callees: build(flat(t, callees), view) };
}

/** Returns the columns of a tree, the larger of two children first. */
function flat(t: Tree, root: Branch): Forest {
  const f: Required<Forest> = { names: t.names, origins: t.origins, symbols: [], parents: [], totals: [], before: [], ran: [] };
  const todo: [Branch, number][] = [[root, -1]];
  for (let next = todo.pop(); next; next = todo.pop()) {
    const [one, parent] = next;
    const place = f.symbols.push(one.symbol) - 1;
    f.parents.push(parent);
    f.totals.push(one.total);
    f.before.push(one.before);
    const children = [...one.children.values()].sort((a, b) => Math.max(a.total, a.before) - Math.max(b.total, b.before));
    for (const c of children) todo.push([c, place]);
  }
  return f;
}

/** Returns the function with the largest cost of its own. */
export function largest(t: Tree): number {
  const own = new Float64Array(t.names.length);
  for (let i = 1; i < t.size; i++) {
    own[t.symbols[i]!]! += t.totals[i]!;
    const parent = t.symbols[t.parents[i]!]!;
    if (parent >= 0) own[parent]! -= t.totals[i]!;
  }
  return own.indexOf(Math.max(...own));
}

/** One of the two graphs. */
class Half {
  private tree: Tree | null = null;
  private painter: Painter | null = null;
  private readonly state: State;
  private readonly space: HTMLElement;
  private readonly canvas: HTMLCanvasElement;

  constructor(
    private readonly graph: HTMLElement,
    private readonly view: View,
    below: boolean,
    chosen: (symbol: number) => void,
    hint: (tree: Tree, node: number, x: number, y: number) => void,
  ) {
    this.state = { zoom: 0, picked: -1, hits: null, below };
    this.space = graph.querySelector(".space")!;
    this.canvas = graph.querySelector("canvas")!;
    const at = (e: MouseEvent) => {
      const box = this.canvas.getBoundingClientRect();
      return this.painter?.at(e.clientX - box.left, e.clientY - box.top + graph.scrollTop, this.state) ?? -1;
    };
    this.canvas.addEventListener("pointermove", (e) => {
      if (e.pointerType !== "touch" && this.tree) hint(this.tree, at(e), e.clientX, e.clientY);
    });
    this.canvas.addEventListener("pointerleave", () => this.tree && hint(this.tree, -1, 0, 0));
    this.canvas.addEventListener("click", (e) => {
      const node = at(e);
      if (node > 0) chosen(this.tree!.symbols[node]!);
    });
    graph.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(graph);
  }

  show(tree: Tree): void {
    this.tree = tree;
    this.painter = new Painter(this.canvas, tree, this.view);
    const height = (tree.deepest + 1) * row;
    this.space.style.height = `${height}px`;
    this.graph.style.height = `${Math.min(height, Math.max(160, innerHeight * 0.4))}px`;
    this.graph.scrollTop = this.state.below ? height : 0;
    this.draw();
  }

  draw(recolor = false): void {
    if (recolor) this.painter?.recolor();
    const { clientWidth: width, clientHeight: height, scrollTop } = this.graph;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    if (width > 0) this.painter?.draw(this.state, scrollTop, width, height);
  }
}

/** The view of a chosen function. */
export class Sandwich {
  private readonly halves: [Half, Half];
  private symbol = -1;

  constructor(
    private readonly section: HTMLElement,
    private readonly tree: Tree,
    private readonly view: View,
    hint: (tree: Tree, node: number, x: number, y: number) => void,
  ) {
    const half = (id: string, below: boolean) =>
      new Half(section.querySelector<HTMLElement>(id)!, view, below, (symbol) => this.show(symbol), hint);
    this.halves = [half("#callers", true), half("#callees", false)];
  }

  show(symbol: number): void {
    this.symbol = symbol;
    this.section.hidden = false;
    const { callers, callees } = merge(this.tree, this.view, symbol);
    this.halves[0].show(callers);
    this.halves[1].show(callees);
    const lines = linesOf(callees, this.view, 0).map((l) => `${l.name} ${l.text}`);
    this.section.querySelector("#chosen")!.textContent = `${this.tree.names[symbol]}: ${lines.join("; ")}. Click on a function to choose it.`;
  }

  /** Shows the same function with other values. */
  again(): void {
    if (!this.section.hidden) this.show(this.symbol);
  }

  recolor(): void {
    for (const half of this.halves) half.draw(true);
  }
}
