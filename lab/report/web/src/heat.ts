// Latency over time of one subject, as a map of counts.

import { blockName, moment } from "./lines";
import { Plot, axis, card, tooltip } from "./plot";
import type { View, Workload } from "./view";

type Cell = [column: number, row: number, log: number, count: number];

/** Draws the map of the subject that the select element names. */
export function heat(element: HTMLElement, select: HTMLSelectElement, view: View, work: Workload): Plot {
  offer(select, view, work);
  const grid = work.grid;
  const every = work.heat.edges.length > 48 ? 8 : 4; // four rows are an octave
  const middle = Math.floor(grid.per_block / 2);
  const plot = new Plot(element, "canvas", ({ theme, narrow }) => {
    const subject = Number(select.value);
    const columns = work.heat.subjects.find((s) => s.subject === subject)?.columns ?? [];
    const name = view.subjects[subject]?.name ?? "";
    element.setAttribute("aria-label", `Heat map of the latency of ${name} over time; the figures are in the table of the blocks`);
    return {
      grid: { left: 64, right: 14, top: 12, bottom: 30 },
      xAxis: {
        ...axis(theme),
        type: "category",
        data: columns.map((_, i) => i),
        splitLine: { show: false },
        axisLabel: {
          ...axis(theme).axisLabel,
          interval: (i: number) => i % grid.per_block === middle,
          formatter: (v: string) => blockName(grid, Math.floor(Number(v) / grid.per_block), narrow),
        },
      },
      yAxis: {
        ...axis(theme),
        type: "category",
        data: work.heat.edges,
        splitLine: { show: false },
        axisLabel: { ...axis(theme).axisLabel, interval: (i: number) => (i + work.heat.first) % every === 0 },
      },
      visualMap: {
        type: "continuous",
        show: false,
        dimension: 2,
        min: 0,
        max: Math.max(1, Math.log10(work.heat.max || 1)),
        inRange: { color: theme.heat },
      },
      tooltip: {
        ...tooltip(theme, (params) => {
          const cell = (params as { value?: Cell }).value;
          return cell ? describe(cell, work) : null;
        }),
        trigger: "item",
      },
      series: [
        {
          type: "heatmap",
          name,
          data: cells(columns),
          progressive: 0,
          emphasis: { disabled: true },
          markLine: {
            silent: true,
            symbol: "none",
            label: { show: false },
            lineStyle: { color: theme.paper, width: 3, type: "solid" },
            data: grid.blocks.slice(1).map((_, i) => ({ xAxis: (i + 1) * grid.per_block - 0.5 })),
          },
        },
      ],
    };
  });
  select.addEventListener("change", () => plot.draw());
  return plot;
}

/** Fills the select element, and chooses the first subject under test. */
function offer(select: HTMLSelectElement, view: View, work: Workload): void {
  const subjects = work.heat.subjects.map((s) => s.subject);
  for (const s of subjects) select.append(new Option(view.subjects[s]!.name, String(s)));
  const first = subjects.find((s) => view.subjects[s]!.role === "subject") ?? subjects[0];
  if (first !== undefined) select.value = String(first);
}

function cells(columns: number[][]): Cell[] {
  const out: Cell[] = [];
  columns.forEach((column, x) => {
    for (let i = 0; i + 1 < column.length; i += 2) {
      out.push([x, column[i]!, Math.log10(column[i + 1]!), column[i + 1]!]);
    }
  });
  return out;
}

function describe([column, row, , count]: Cell, work: Workload): HTMLElement {
  const [edge, above] = work.heat.edges.slice(row, row + 2);
  return card(moment(work.grid, column), [
    { name: above ? `${edge} to ${above}` : `from ${edge}`, value: `${count.toLocaleString("en")} ${work.unit}s` },
  ]);
}
