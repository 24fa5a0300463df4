// The lanes of the Ps: what each ran over time, and the runnable goroutines below. Columns are
// drawn as shares; spans that are wide enough are drawn one by one.

import type { Legend } from "./legend";
import { Viewport } from "./gmpview";
import { card, digits, font, micros } from "./plot";
import { type Slow, key } from "./slowest";
import { type Theme, current } from "./theme";
import { find } from "./view";

export interface Gmp {
  slowest: Slow[];
  window: number;
  lanes: {
    step_ns: number;
    lanes: Lane[] | null;
    names: string[];
    /** Lane, begin, length, kind, goroutine, index of the function or -1; in ns. */
    spans: [number, number, number, number, number, number][];
    least_ns: number;
  };
  ready: { step: number; mean: number[]; max: number[] };
  /** Mark phases of the collector, and times in which the world was stopped. */
  marks: [number, number][];
  pauses: [number, number][];
}

interface Lane {
  p: number;
  user: string | number[];
  gc: string | number[];
  syscall: string | number[];
  sched: string | number[];
}

type Kind = { name: string; color: (t: Theme) => string };

const kinds: Kind[] = [
  { name: "idle", color: (t) => t.rule },
  { name: "program", color: (t) => t.hues[0]! },
  { name: "collector", color: (t) => t.hues[1]! },
  { name: "system call", color: (t) => t.hues[2]! },
  { name: "scheduler", color: (t) => t.soft },
];

const margin = { left: 46, right: 8, top: 22, bottom: 20 };
const readyHeight = 64;
const gap = 10;

/** The lanes, for the requests that are linked with them. */
export interface Lanes extends Legend {
  /** Shows and marks a request; -1 marks none. */
  show(request: number): void;
  /** Calls back with the request whose piece was clicked. */
  clicked(call: (request: number) => void): void;
}

export function gmp(view: Gmp): Lanes {
  const element = find<HTMLElement>(document, "[data-gmp]");
  const bar = find<HTMLElement>(document, ".gmp-bar");
  const shares = (view.lanes.lanes ?? []).map(unpack);
  const drawing = new Drawing(element, view, shares);
  const port = new Viewport(element, bar, view.window, margin, () => drawing.draw(port.from, port.to));
  drawing.hover(port);
  const span = document.createElement("span");
  span.className = "gmp-key";
  bar.append(span);
  const legend = key(span, [...kinds.map((k): [string, Kind["color"]] => [k.name, k.color]), ["world stopped", (t) => t.accent]]);
  const redraw = () => drawing.draw(port.from, port.to);
  new ResizeObserver(redraw).observe(element);
  redraw();
  return {
    recolor() {
      legend.recolor();
      redraw();
    },
    show(request) {
      drawing.marked = request;
      const one = view.slowest[request];
      if (one) port.show(one.at - one.ns / 4, one.at + one.ns * 1.25);
      else redraw();
    },
    clicked(call) {
      let down = 0;
      element.addEventListener("pointerdown", (e) => (down = e.clientX));
      element.addEventListener("click", (e) => {
        const at = Math.abs(e.clientX - down) < 4 ? port.at(e.clientX) : null; // else it was a drag
        const request = at === null ? -1 : drawing.requestAt(at, e.clientY - element.getBoundingClientRect().top, port);
        if (request >= 0) call(request);
      });
    },
  };
}

/** Go writes bytes as base64. */
function bytes(packed: string | number[]): number[] {
  return typeof packed === "string" ? Array.from(atob(packed), (c) => c.charCodeAt(0)) : packed;
}

interface Shares {
  p: number;
  rows: number[][];
}

function unpack(lane: Lane): Shares {
  return { p: lane.p, rows: [[], bytes(lane.user), bytes(lane.gc), bytes(lane.syscall), bytes(lane.sched)] };
}

class Drawing {
  /** The request whose pieces are outlined; -1: none. */
  marked = -1;
  private readonly canvas: HTMLCanvasElement;
  private readonly context: CanvasRenderingContext2D;
  private readonly card: HTMLElement;
  private width = 0;
  private lane: number;
  private byLane: Gmp["lanes"]["spans"][];

  constructor(
    private readonly element: HTMLElement,
    private readonly view: Gmp,
    private readonly shares: Shares[],
  ) {
    this.canvas = find(element, "canvas");
    this.card = find(element, ".gmp-card");
    const context = this.canvas.getContext("2d");
    if (!context) throw new Error("the browser has no canvas");
    this.context = context;
    this.lane = shares.length > 24 ? 12 : shares.length > 8 ? 18 : 26;
    this.byLane = shares.map((_, i) => view.lanes.spans.filter((s) => s[0] === i).sort((a, b) => a[1] - b[1]));
  }

  private lanesEnd(): number {
    return margin.top + this.shares.length * this.lane;
  }

  draw(from: number, to: number): void {
    const theme = current();
    const c = this.context;
    this.width = this.element.clientWidth;
    const height = this.lanesEnd() + gap + readyHeight + margin.bottom;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.height = `${height}px`;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, this.width, height);
    c.font = `12px ${font}`;
    const inner = this.width - margin.left - margin.right;
    const x = (ns: number) => margin.left + ((ns - from) / (to - from)) * inner;
    c.save();
    c.beginPath();
    c.rect(margin.left, 0, inner, height);
    c.clip();
    this.shares.forEach((lane, i) => this.drawLane(lane, i, theme, x, from, to));
    this.drawEvents(theme, x);
    this.drawReady(theme, x, from, to);
    c.restore();
    this.drawAxes(theme, x, from, to, height);
  }

  private drawLane(lane: Shares, i: number, theme: Theme, x: (ns: number) => number, from: number, to: number): void {
    const c = this.context;
    const top = margin.top + i * this.lane + 1;
    const height = this.lane - 3;
    c.fillStyle = kinds[0]!.color(theme);
    c.fillRect(margin.left, top, this.width, height);
    const step = this.view.lanes.step_ns;
    const wide = x(from + step) - x(from);
    // Zoomed in, the spans show all that can be seen.
    const exact = wide > 8 && x(from + this.view.lanes.least_ns) - x(from) < 1;
    const columns = lane.rows[1]!.length;
    // Several columns may share a pixel: their mean is drawn.
    const merge = Math.max(1, Math.floor(1 / wide));
    for (let at = Math.max(0, Math.floor(from / step)); !exact && at < columns && at * step < to; at += merge) {
      const left = x(at * step);
      const size = Math.max(wide * merge, 1);
      let bottom = top + height;
      for (let kind = 1; kind < kinds.length; kind++) {
        const share = mean(lane.rows[kind]!, at, merge) / 100;
        if (share === 0) continue;
        c.fillStyle = kinds[kind]!.color(theme);
        c.fillRect(left, bottom - share * height, size + 0.3, share * height);
        bottom -= share * height;
      }
    }
    const least = exact ? 0 : 1.5;
    for (const s of this.byLane[i]!) {
      if (s[1] > to) break;
      const left = x(s[1]);
      const right = x(s[1] + s[2]);
      if (s[1] + s[2] < from || right - left < least) continue;
      c.fillStyle = kinds[s[3]]!.color(theme);
      c.fillRect(left, top, Math.max(right - left - (right - left > 3 ? 0.6 : 0), 0.4), height);
      this.label(theme, s, Math.max(left, margin.left), right, top + height / 2);
    }
    // Pieces of the marked request are outlined however short they are.
    const request = this.view.slowest[this.marked];
    if (!request) return;
    c.strokeStyle = theme.ink;
    c.lineWidth = 2;
    for (const s of this.byLane[i]!) {
      if (within(request, s)) c.strokeRect(x(s[1]), top, Math.max(x(s[1] + s[2]) - x(s[1]), 2), height);
    }
  }

  /** Writes the name of the function into a span with enough room. */
  private label(theme: Theme, s: Gmp["lanes"]["spans"][number], left: number, right: number, y: number): void {
    const name = this.view.lanes.names[s[5]];
    if (!name || right - left < 60 || this.lane < 18) return;
    const c = this.context;
    const most = Math.floor((Math.min(right, this.width) - left - 8) / 6.2);
    c.fillStyle = theme.paper;
    c.textBaseline = "middle";
    c.textAlign = "left";
    c.fillText(name.length > most ? `${name.slice(0, Math.max(most - 1, 0))}…` : name, left + 4, y);
  }

  /** Draws mark phases as a band, and stopped worlds as rules. */
  private drawEvents(theme: Theme, x: (ns: number) => number): void {
    const c = this.context;
    c.fillStyle = kinds[2]!.color(theme);
    for (const [a, b] of this.view.marks) c.fillRect(x(a), margin.top - 7, Math.max(x(b) - x(a), 1), 4);
    c.fillStyle = theme.accent;
    for (const [a, b] of this.view.pauses) c.fillRect(x(a), margin.top - 12, Math.max(x(b) - x(a), 1), 4);
  }

  private highest(): number {
    return Math.max(...this.view.ready.max, 1);
  }

  private drawReady(theme: Theme, x: (ns: number) => number, from: number, to: number): void {
    const { step, mean: means, max } = this.view.ready;
    const base = this.lanesEnd() + gap + readyHeight;
    const high = this.highest();
    const c = this.context;
    const wide = x(from + step) - x(from);
    const merge = Math.max(1, Math.floor(1 / wide));
    for (let i = Math.max(0, Math.floor(from / step)); i < max.length && i * step < to; i += merge) {
      const top = Math.max(...max.slice(i, i + merge));
      const size = Math.max(wide * merge, 1) + 0.3;
      c.globalAlpha = 0.35;
      c.fillStyle = theme.accent;
      c.fillRect(x(i * step), base - (top / high) * readyHeight, size, (top / high) * readyHeight);
      c.globalAlpha = 1;
      const level = (mean(means, i, merge) / high) * readyHeight;
      c.fillRect(x(i * step), base - level, size, level);
    }
  }

  private drawAxes(theme: Theme, x: (ns: number) => number, from: number, to: number, height: number): void {
    const c = this.context;
    c.fillStyle = theme.soft;
    c.textBaseline = "middle";
    c.textAlign = "right";
    const every = this.lane < 14 ? 4 : 1;
    this.shares.forEach((lane, i) => {
      if (i % every === 0) c.fillText(`P ${lane.p}`, margin.left - 8, margin.top + (i + 0.5) * this.lane);
    });
    const base = this.lanesEnd() + gap + readyHeight;
    c.fillText(String(this.highest()), margin.left - 8, base - readyHeight + 5);
    c.fillText("ready", margin.left - 8, base - readyHeight / 2);
    c.fillText("0", margin.left - 8, base - 4);
    c.textAlign = "center";
    const step = round((to - from) / Math.max(3, Math.floor(this.width / 130)));
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      const left = x(at);
      if (left < margin.left + 16 || left > this.width - 34) continue;
      c.fillText(micros(at / 1e3, exact), left, height - 8);
      c.fillRect(left, base, 1, 4);
    }
  }

  /** Shows what is under the pointer. */
  hover(port: Viewport): void {
    this.element.addEventListener("pointermove", (e) => {
      const box = this.element.getBoundingClientRect();
      const at = port.at(e.clientX);
      const content = at === null ? null : this.describe(at, e.clientY - box.top, port);
      this.card.hidden = content === null;
      if (content === null) return;
      this.card.replaceChildren(content);
      const left = Math.min(e.clientX - box.left + 14, this.width - this.card.offsetWidth - 4);
      this.card.style.left = `${Math.max(0, left)}px`;
      this.card.style.top = `${e.clientY - box.top + 16}px`;
    });
    this.element.addEventListener("pointerleave", () => (this.card.hidden = true));
  }

  private spanAt(at: number, lane: number, port: Viewport): Span | undefined {
    const slack = ((port.to - port.from) / this.width) * 1.5;
    return this.byLane[lane]?.find((s) => s[1] - slack <= at && at <= s[1] + s[2] + slack);
  }

  /** Returns the request whose piece is at a place, or -1. */
  requestAt(at: number, y: number, port: Viewport): number {
    const span = this.spanAt(at, Math.floor((y - margin.top) / this.lane), port);
    return span ? this.view.slowest.findIndex((r) => within(r, span)) : -1;
  }

  private describe(at: number, y: number, port: Viewport): Node | null {
    const i = Math.floor((y - margin.top) / this.lane);
    const column = Math.floor(at / this.view.lanes.step_ns);
    const when = `at ${micros(at / 1e3, exact)}`;
    if (i >= this.shares.length && y > this.lanesEnd() + gap) {
      const { mean: means, max } = this.view.ready;
      if (means[column] === undefined) return null;
      return card(when, [{ name: "runnable, mean", value: digits(means[column]) }, { name: "max", value: String(max[column]) }]);
    }
    const lane = this.shares[i];
    if (y < margin.top || !lane) return null;
    const span = this.spanAt(at, i, port);
    if (span) {
      const request = this.view.slowest.find((r) => within(r, span));
      return card(`P ${lane.p} ${when}`, [
        { name: kinds[span[3]]!.name, value: micros(span[2] / 1e3) },
        { name: this.view.lanes.names[span[5]] ?? "unknown function", value: `goroutine ${span[4]}` },
        ...(request ? [{ name: `request ${request.name}`, value: "click to see it" }] : []),
      ]);
    }
    const rows = kinds.slice(1).map((k, n) => ({ color: k.color(current()), name: k.name, value: `${lane.rows[n + 1]![column] ?? 0} %` }));
    return card(`P ${lane.p} ${when}`, rows);
  }
}

type Span = Gmp["lanes"]["spans"][number];

/** Reports whether a span is a piece of a request: of its goroutine, in its time. */
function within(r: Slow, s: Span): boolean {
  return s[4] === r.g && s[1] < r.at + r.ns && s[1] + s[2] > r.at;
}

function mean(values: number[], at: number, n: number): number {
  const part = values.slice(at, at + n);
  return part.reduce((a, b) => a + b, 0) / Math.max(part.length, 1);
}

/** Returns the next round number. */
function round(v: number): number {
  const unit = 10 ** Math.floor(Math.log10(v));
  return [1, 2, 5, 10].find((m) => m * unit >= v)! * unit;
}

function exact(v: number): string {
  return String(Number(v.toPrecision(6)));
}
