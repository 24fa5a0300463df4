// Draws the visible part of the tree on a canvas that is as large as the window of the graph, so
// that neither the depth nor the number of nodes matters.

import { type Colours, colours } from "./colours";
import { type Tree, type View, above, short } from "./tree";

export const row = 20; // height of a row in CSS pixels
const least = 0.35; // width of the narrowest node that is drawn
const letter = 6.7; // width of a letter

export interface State {
  zoom: number; // node that has the whole width
  picked: number; // node that the keyboard is at; -1: none
  hits: Uint8Array | null; // symbols that the search found
  below: boolean; // the root is at the bottom
}

export interface Box {
  node: number;
  x: number;
  width: number;
}

/** Returns the change of a node in a difference, as a share of the larger total. */
export function change(t: Tree, view: View, node: number): number {
  const after = view.each ? view.scale : 1 / (view.total || 1);
  const before = view.each ? (view.scaled ?? 0) : 1 / (view.before || 1);
  const all = Math.max(t.totals[0]! * after, t.before[0]! * before) || 1;
  return (t.totals[node]! * after - t.before[node]! * before) / all;
}

export class Painter {
  private rows: Box[][] = []; // what was drawn, by depth
  private colours: Colours = colours();

  constructor(
    private canvas: HTMLCanvasElement,
    private tree: Tree,
    private view: View,
  ) {}

  recolor(): void {
    this.colours = colours();
  }

  /** Returns the vertical position of a row in the whole graph. */
  top(depth: number, state: State): number {
    return (state.below ? this.tree.deepest - depth : depth) * row;
  }

  /** Returns the horizontal position of a node; it may be outside of the canvas. */
  place(node: number, state: State, width: number): Box {
    const t = this.tree;
    if (above(t, node, state.zoom)) return { node, x: 0, width };
    const scale = width / (t.weight[state.zoom]! || 1);
    return { node, x: (t.start[node]! - t.start[state.zoom]!) * scale, width: t.weight[node]! * scale };
  }

  /** Draws the rows between two positions of the whole graph. */
  draw(state: State, scroll: number, width: number, height: number): void {
    const ratio = Math.min(devicePixelRatio || 1, 3);
    const { canvas, tree: t } = this;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const to = canvas.getContext("2d")!;
    to.setTransform(ratio, 0, 0, ratio, 0, 0);
    to.clearRect(0, 0, width, height);
    to.font = '11.5px ui-monospace, "DejaVu Sans Mono", "Liberation Mono", monospace';
    to.textBaseline = "middle";
    this.rows = [];
    for (let i = 0; i < t.size; ) {
      const box = this.place(i, state, width);
      if (box.width < least || box.x >= width || box.x + box.width <= 0) {
        i = t.ends[i]!;
        continue;
      }
      const y = this.top(t.depth[i]!, state) - scroll;
      if (y > -row && y < height) this.node(to, state, box, y, width);
      (this.rows[t.depth[i]!] ??= []).push(box);
      i++;
    }
  }

  private node(to: CanvasRenderingContext2D, state: State, box: Box, y: number, width: number): void {
    const { tree: t, view, colours: c } = this;
    const symbol = t.symbols[box.node]!;
    const x = Math.max(0, box.x);
    const w = Math.min(width, box.x + box.width) - x;
    const moved = view.diff ? change(t, view, box.node) : 0;
    if (view.diff) to.fillStyle = c.change(Math.sign(moved) * Math.sqrt(Math.abs(moved) / 0.15));
    else to.fillStyle = symbol < 0 ? c.origin(0, 0) : c.origin(t.origins[symbol]!, symbol);
    const found = state.hits !== null && symbol >= 0 && state.hits[symbol] === 1;
    to.globalAlpha = state.hits !== null && !found ? 0.35 : box.node !== state.zoom && above(t, box.node, state.zoom) ? 0.55 : 1;
    const gap = w > 3 ? 1 : 0;
    to.fillRect(x, y + 1, Math.max(w - gap, 0.4), row - 1);
    if (found) {
      to.fillStyle = c.mark;
      to.fillRect(x, y + row - 3, Math.max(w - gap, 1), 3);
    }
    if (w > 26) {
      to.fillStyle = c.ink;
      const sign = !view.diff || Math.abs(moved) < 0.0005 ? "" : moved > 0 ? "▲ " : "▼ ";
      to.fillText(fit(sign + short(t, box.node), w - 8), x + 4, y + row / 2 + 1);
    }
    to.globalAlpha = 1;
    if (box.node === state.picked) {
      to.strokeStyle = c.ink;
      to.lineWidth = 2;
      to.strokeRect(x + 1, y + 2, Math.max(w - 2, 1), row - 3);
    }
  }

  /** Returns the node at a position of the whole graph, or -1. */
  at(x: number, y: number, state: State): number {
    const level = Math.floor(y / row);
    const list = this.rows[state.below ? this.tree.deepest - level : level];
    if (!list) return -1;
    let low = 0;
    let high = list.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (list[middle]!.x <= x) low = middle;
      else high = middle - 1;
    }
    const box = list[low]!;
    return box.x <= x && x < box.x + Math.max(box.width, 1) ? box.node : -1;
  }
}

/** Cuts a text to a width. */
function fit(text: string, width: number): string {
  const letters = Math.floor(width / letter);
  if (text.length <= letters) return text;
  return letters < 3 ? "" : `${text.slice(0, letters - 1)}…`;
}
