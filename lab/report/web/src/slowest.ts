// The bars of the slowest requests: what the goroutine of each did, from its begin to its end.

import type { Lanes } from "./gmp";
import type { Legend } from "./legend";
import { micros } from "./plot";
import { type Theme, current } from "./theme";
import { find } from "./view";

export interface Slow {
  /** Begin, length, goroutine. */
  at: number;
  ns: number;
  g: number;
  name: string;
  parts: { at: number; ns: number; state: State; text: string }[];
}

type State = "running" | "runnable" | "blocked" | "syscall";

const names: Record<State, string> = { running: "running", syscall: "system call", runnable: "runnable", blocked: "blocked" };

/** Colours of the states, from strong to faint as the goroutine does less. */
const colors: Record<State, (t: Theme) => string> = {
  running: (t) => t.hues[0]!,
  syscall: (t) => t.hues[2]!,
  runnable: (t) => t.accent,
  blocked: (t) => t.hues[4]!,
};

const svg = "http://www.w3.org/2000/svg";

export function slowest(list: Slow[]): Legend[] {
  const out: Legend[] = [];
  document.querySelectorAll<HTMLElement>("[data-slow]").forEach((at, i) => {
    const one = list[i];
    if (one) out.push(bar(at, one));
  });
  if (list.length > 0) {
    out.push(key(find(document, "[data-key=requests]"), Object.entries(names).map(([state, text]) => [text, colors[state as State]])));
  }
  return out;
}

/** Links the requests with the lanes: a button of each shows it there, and a click there shows it here. */
export function link(list: Slow[], lanes: Lanes): void {
  const section = find<HTMLElement>(document, "#lanes");
  const items = [...document.querySelectorAll<HTMLElement>("[data-slow]")].map((bar) => bar.closest("li")!);
  const mark = (request: number) => {
    items.forEach((item, i) => item.classList.toggle("marked", i === request));
    lanes.show(request);
  };
  items.forEach((item, i) => {
    if (!list[i]) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "to-lanes";
    button.textContent = "Show in the lanes";
    button.addEventListener("click", () => {
      mark(i);
      section.scrollIntoView();
    });
    item.querySelector("p")!.append(" ", button);
  });
  lanes.clicked((request) => {
    mark(request);
    items[request]?.scrollIntoView({ block: "center" });
  });
}

function bar(at: HTMLElement, one: Slow): Legend {
  const root = document.createElementNS(svg, "svg");
  root.setAttribute("viewBox", "0 0 1000 18");
  root.setAttribute("preserveAspectRatio", "none");
  const rects = one.parts.map((part) => {
    const rect = document.createElementNS(svg, "rect");
    // Pieces that are too short to be seen get a third of a pixel.
    const width = Math.max((part.ns / one.ns) * 1000, 0.4);
    for (const [k, v] of Object.entries({ x: (part.at / one.ns) * 1000, y: 1, width, height: 16 })) rect.setAttribute(k, String(v));
    const title = document.createElementNS(svg, "title");
    title.textContent = `${micros(part.ns / 1e3)} after ${micros(part.at / 1e3)}: ${part.text}`;
    rect.append(title);
    root.append(rect);
    return { rect, state: part.state };
  });
  at.append(root);
  const recolor = () => {
    const theme = current();
    for (const { rect, state } of rects) rect.setAttribute("fill", colors[state](theme));
  };
  recolor();
  return { recolor };
}

/** Builds a legend of colours. */
export function key(at: HTMLElement, entries: [string, (t: Theme) => string][]): Legend {
  const swatches = entries.map(([name, color]) => {
    const item = document.createElement("span");
    const swatch = document.createElement("i");
    item.append(swatch, name);
    at.append(item);
    return { swatch, color };
  });
  const recolor = () => swatches.forEach(({ swatch, color }) => (swatch.style.background = color(current())));
  recolor();
  return { recolor };
}
