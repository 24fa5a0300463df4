// Draws the page of an execution trace: the lanes of the Ps, the bars of the slowest requests,
// and figures over time. Go has calculated all figures: see lab/trace/page.

import type { Drawn } from "./comparison";
import { type Gmp, gmp } from "./gmp";
import { type OverTime, charts } from "./run";
import { link, slowest } from "./slowest";
import { data } from "./view";

type Trace = OverTime & Gmp;

export function trace(drawn: Drawn): void {
  const view = data<Trace>("view");
  const lanes = gmp(view);
  drawn.legends.push(lanes, ...slowest(view.slowest));
  link(view.slowest, lanes);
  charts(drawn, view);
}
