// Draws the page of a comparison, of a load run, of an execution trace, of a watch, or of a diagnosis. Go has calculated all figures.

import { type Drawn, comparison } from "./comparison";
import { download } from "./download";
import { type OverTime, charts, run } from "./run";
import { sortable } from "./tables";
import { watch } from "./theme";
import { trace } from "./trace";
import { data, find } from "./view";

const drawn: Drawn = { plots: [], legends: [] };

watch(find(document, "#theme"), () => {
  drawn.plots.forEach((p) => p.draw());
  drawn.legends.forEach((l) => l.recolor());
});
download(find(document, "#download"));
document.querySelectorAll<HTMLTableElement>("table.sortable").forEach(sortable);

if (document.body.dataset.page === "run") run(drawn);
else if (document.body.dataset.page === "trace") trace(drawn);
else if (document.body.dataset.page === "watch") charts(drawn, data<OverTime>("view"));
else if (document.body.dataset.page !== "diagnosis") comparison(drawn); // its page has no chart of a script
document.documentElement.dataset.ready = "";
