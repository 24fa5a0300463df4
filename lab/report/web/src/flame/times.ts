// When the stacks ran: a bar for each part of the profile's time, as high as what ran in it, with the part
// of the chosen function. A choice of some parts narrows the graph to them.

import { amount, percent } from "./amount";
import { colours } from "./colours";
import type { State } from "./paint";
import { type Tree, type View, narrow } from "./tree";

/** What a range of parts is called, from the first to before the last. */
type Range = { from: number; to: number };

export class Times {
  private readonly whole: { total: number; scale: number };
  private range: Range | null = null;
  private anchor = -1; // part at which the choice began
  private colours = colours();

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly line: HTMLElement,
    private readonly tree: Tree,
    private readonly view: View,
    private readonly state: State,
    private readonly changed: () => void,
  ) {
    this.whole = { total: view.total, scale: view.scale };
    canvas.addEventListener("pointerdown", (e) => {
      canvas.setPointerCapture(e.pointerId);
      this.anchor = this.at(e);
      this.choose(this.anchor, this.anchor);
    });
    canvas.addEventListener("pointermove", (e) => {
      if (this.anchor >= 0) this.choose(this.anchor, this.at(e));
    });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (this.anchor = -1));
    canvas.addEventListener("dblclick", () => this.all());
    canvas.addEventListener("keydown", (e) => {
      const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
      if (step) this.move(step, e.shiftKey);
      else if (e.key === "Escape") this.all();
      else return;
      e.preventDefault();
    });
    new ResizeObserver(() => this.draw()).observe(canvas);
    this.say();
  }

  recolor(): void {
    this.colours = colours();
    this.draw();
  }

  /** Shows the whole profile again. */
  all(): void {
    this.range = null;
    this.apply();
  }

  private get parts(): number {
    return this.view.slices!;
  }

  private at(e: MouseEvent): number {
    const box = this.canvas.getBoundingClientRect();
    return Math.min(this.parts - 1, Math.max(0, Math.floor(((e.clientX - box.left) / box.width) * this.parts)));
  }

  private choose(a: number, b: number): void {
    this.range = { from: Math.min(a, b), to: Math.max(a, b) + 1 };
    this.apply();
  }

  /** Moves the choice by a part, or only its end. */
  private move(step: number, end: boolean): void {
    const { from, to } = this.range ?? { from: step > 0 ? -1 : this.parts, to: step > 0 ? 0 : this.parts + 1 };
    if (end && this.range) this.choose(from, Math.min(this.parts, Math.max(from + 1, to + step)) - 1);
    else if (from + step >= 0 && to + step <= this.parts) this.choose(from + step, to + step - 1);
  }

  private apply(): void {
    const { tree, view, range } = this;
    Object.assign(tree, narrow(tree, view, range?.from ?? 0, range?.to ?? this.parts));
    view.total = tree.totals[0]!;
    view.scale = range ? 0 : this.whole.scale; // the requests of a part of the time are unknown
    this.say();
    this.changed();
    this.draw();
  }

  private say(): void {
    const { range, view } = this;
    const time = (part: number) => amount(part * view.slice! * 1e9, "nanoseconds");
    this.line.textContent = range
      ? `From ${time(range.from)} to ${time(range.to)}: ${percent(view.total / (this.whole.total || 1))} of the profile. Escape shows all; the table below is of all.`
      : `What ran in ${time(this.parts)}, in parts of ${time(1)}, and in colour what is chosen. Drag over the bars for the graph of a part of the time.`;
  }

  /** Returns the value of each part, and that of the chosen function or of what the search found. */
  private values(): { all: Float64Array; chosen: Float64Array } {
    const { tree: t, state } = this;
    const all = new Float64Array(this.parts);
    const chosen = new Float64Array(this.parts);
    const node = state.picked >= 0 ? state.picked : state.zoom;
    const found = new Uint8Array(t.size);
    for (let i = 1; i < t.size; i++) {
      if (state.hits) found[i] = found[t.parents[i]!]! | state.hits[t.symbols[i]!]!;
      else found[i] = node > 0 && i >= node && i < t.ends[node]! ? 1 : 0;
    }
    for (let i = 0; i < t.ran.length; i += 3) {
      const part = t.ran[i + 1]!;
      all[part]! += t.ran[i + 2]!;
      if (found[t.ran[i]!]) chosen[part]! += t.ran[i + 2]!;
    }
    return { all, chosen };
  }

  draw(): void {
    const { canvas, range, colours: c } = this;
    const { clientWidth: width, clientHeight: height } = canvas;
    if (width === 0) return;
    const ratio = Math.min(devicePixelRatio || 1, 3);
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const to = canvas.getContext("2d")!;
    to.setTransform(ratio, 0, 0, ratio, 0, 0);
    const { all, chosen } = this.values();
    const most = Math.max(...all) || 1;
    const wide = width / this.parts;
    for (let i = 0; i < this.parts; i++) {
      to.globalAlpha = !range || (i >= range.from && i < range.to) ? 1 : 0.3;
      for (const [value, colour] of [[all[i]!, c.soft], [chosen[i]!, c.origin(1, 0)]] as const) {
        const high = (value / most) * (height - 2);
        to.fillStyle = colour;
        to.fillRect(i * wide, height - high, Math.max(wide - (wide > 3 ? 1 : 0), 0.5), high);
      }
    }
    to.globalAlpha = 1;
  }
}
