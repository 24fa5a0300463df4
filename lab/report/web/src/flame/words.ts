// What the card and the line below the search say of a node.

import { amount, percent, signed } from "./amount";
import type { Tree, View } from "./tree";

export interface Line {
  name: string;
  text: string;
}

function self(t: Tree, values: Float64Array, node: number): number {
  let rest = values[node]!;
  for (let i = node + 1; i < t.ends[node]!; i = t.ends[i]!) rest -= values[i]!;
  return rest;
}

/** Returns the name of a node. */
export function nameOf(t: Tree, node: number): string {
  const s = t.symbols[node]!;
  return s < 0 ? "all" : t.names[s]!;
}

/** Returns the figures of a node. */
export function linesOf(t: Tree, view: View, node: number): Line[] {
  const lines: Line[] = [];
  const s = t.symbols[node]!;
  if (view.diff) return differences(t, view, node);
  const total = view.total || 1;
  const both = (v: number) => `${amount(v, view.unit)}, ${percent(v / total)}`;
  lines.push({ name: "with callees", text: both(t.totals[node]!) });
  lines.push({ name: "itself", text: both(self(t, t.totals, node)) });
  if (view.scale > 0) {
    lines.push({ name: "a request", text: amount(t.totals[node]! * view.scale, view.unit) });
    lines.push({ name: "itself, a request", text: amount(self(t, t.totals, node) * view.scale, view.unit) });
  }
  if (node > 0) lines.push({ name: "of its caller", text: percent(t.totals[node]! / (t.totals[t.parents[node]!]! || 1)) });
  if (s >= 0) lines.push({ name: "code", text: view.origins[t.origins[s]!]! });
  return lines;
}

function differences(t: Tree, view: View, node: number): Line[] {
  const after = view.each ? view.scale : 1 / (view.total || 1);
  const before = view.each ? (view.scaled ?? 0) : 1 / (view.before || 1);
  const print = (v: number) => (view.each ? amount(v, view.unit) : percent(v));
  const plus = (v: number) => (view.each ? signed(v, view.unit) : `${v > 0 ? "+" : ""}${(v * 100).toFixed(2)} points`);
  const was = t.before[node]! * before;
  const is = t.totals[node]! * after;
  const moved = self(t, t.totals, node) * after - self(t, t.before, node) * before;
  const s = t.symbols[node]!;
  const lines = [
    { name: view.each ? "a request, before" : "share before", text: print(was) },
    { name: "after", text: print(is) },
    { name: "change", text: plus(is - was) + (was > 0 ? ` (${is >= was ? "+" : ""}${((is / was - 1) * 100).toFixed(0)} %)` : " (new)") },
    { name: "change of itself", text: plus(moved) },
  ];
  if (s >= 0) lines.push({ name: "code", text: view.origins[t.origins[s]!]! });
  return lines;
}
