// Draws the page of an execution trace: the lanes of the Ps, the bars of the slowest requests,
// and figures over time. Go has calculated all figures: see lab/trace/page.

import type { Drawn } from "./comparison";
import { type Gmp, gmp } from "./gmp";
import { type OverTime, charts } from "./run";
import { type Slow, slowest } from "./slowest";
import { data } from "./view";

interface Trace extends OverTime, Gmp {
  slowest: Slow[];
}

export function trace(drawn: Drawn): void {
  const view = data<Trace>("view");
  drawn.legends.push(gmp(view), ...slowest(view.slowest));
  charts(drawn, view);
}
