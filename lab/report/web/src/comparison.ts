// Draws the page of a comparison. Go has calculated all figures: see view.ts.

import { bars } from "./bars";
import { curves } from "./curves";
import { heat } from "./heat";
import { type Legend, legend } from "./legend";
import { lines } from "./lines";
import { type Plot, digits, rate } from "./plot";
import { entryOf } from "./theme";
import { type Lines, type View, type Workload, data, find } from "./view";

/** Parts that are drawn again when the theme changes. */
export interface Drawn {
  plots: Plot[];
  legends: Legend[];
}

const mebibytes = (v: number) => `${digits(v)} MiB`;

/** The figures over time, and the function that prints each. */
const overTime: [Exclude<keyof Lines, "subject">, (v: number) => string][] = [
  ["rate", rate],
  ["rss", mebibytes],
  ["goroutines", rate],
];

function section({ plots, legends }: Drawn, root: HTMLElement, view: View, work: Workload): void {
  // The twin repeats the baseline: it is hidden at first.
  const hidden = new Set(work.curves.map((c) => c.subject).filter((s) => view.subjects[s]?.role === "twin"));
  const listed = work.curves.map((c) => ({ points: c.points, entry: entryOf(view.subjects, c.subject) }));
  const at = (name: string) => find<HTMLElement>(root, `[data-plot=${name}]`);
  const followers: Plot[] = [];
  if (work.bars.length > 0) plots.push(bars(at("cpu"), view, work));
  if (work.curves.length > 0) followers.push(curves(at("latency"), listed, hidden));
  if (work.lines.length > 0) {
    for (const [name, print] of overTime) {
      const element = root.querySelector<HTMLElement>(`[data-plot=${name}]`); // exists only if there is something to draw
      if (element) followers.push(lines(element, view, work, hidden, (l) => l[name] ?? [], print));
    }
    plots.push(heat(at("heat"), find(root, "select"), view, work));
  }
  plots.push(...followers);
  legends.push(
    legend(
      find(root, ".legend"),
      listed.map((c) => c.entry),
      hidden,
      () => followers.forEach((p) => p.draw()),
      (name) => followers.forEach((p) => p.highlight(name)),
    ),
  );
}

export function comparison(drawn: Drawn): void {
  const view = data<View>("view");
  view.workloads.forEach((work, i) => section(drawn, find(document, `#w${i}`), view, work));
}
