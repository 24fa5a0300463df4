// Latency over time, as a map of counts.

import { blockName, moment } from "./lines";
import { Plot, axis, card, tooltip } from "./plot";
import type { Rows, View, Workload } from "./view";

type Cell = [column: number, row: number, log: number, count: number];

/** The content of a map: columns of row, count, row, count..., and their labels. */
export interface Map {
  name: string;
  columns: number[][];
  rules: number[]; // columns before which a rule is drawn
  labelled(column: number): boolean;
  label(column: number, narrow: boolean): string;
  moment(column: number): string;
}

/** Draws the map of the subject that is selected. */
export function heat(element: HTMLElement, select: HTMLSelectElement, view: View, work: Workload): Plot {
  offer(select, view, work);
  const grid = work.grid;
  const middle = Math.floor(grid.per_block / 2);
  const plot = map(element, work.heat, work.unit, () => {
    const subject = Number(select.value);
    const name = view.subjects[subject]?.name ?? "";
    element.setAttribute("aria-label", `Heat map of the latency of ${name} over time; the figures are in the table of the blocks`);
    return {
      name,
      columns: work.heat.subjects.find((s) => s.subject === subject)?.columns ?? [],
      rules: grid.blocks.slice(1).map((_, i) => (i + 1) * grid.per_block),
      labelled: (i) => i % grid.per_block === middle,
      label: (i, narrow) => blockName(grid, Math.floor(i / grid.per_block), narrow),
      moment: (i) => moment(grid, i),
    };
  });
  select.addEventListener("change", () => plot.draw());
  return plot;
}

/** Draws latency over time; shown returns the content for each drawing. */
export function map(element: HTMLElement, scale: Rows, unit: string, shown: () => Map): Plot {
  const every = scale.edges.length > 48 ? 8 : 4; // four rows are a factor of two
  return new Plot(element, "canvas", ({ theme, narrow }) => {
    const now = shown();
    return {
      grid: { left: 64, right: 14, top: 12, bottom: 30 },
      xAxis: {
        ...axis(theme),
        type: "category",
        data: now.columns.map((_, i) => i),
        splitLine: { show: false },
        axisLabel: {
          ...axis(theme).axisLabel,
          interval: (i: number) => now.labelled(i),
          formatter: (v: string) => now.label(Number(v), narrow),
        },
      },
      yAxis: {
        ...axis(theme),
        type: "category",
        data: scale.edges,
        splitLine: { show: false },
        axisLabel: { ...axis(theme).axisLabel, interval: (i: number) => (i + scale.first) % every === 0 },
      },
      visualMap: {
        type: "continuous",
        show: false,
        dimension: 2,
        min: 0,
        max: Math.max(1, Math.log10(scale.max || 1)),
        inRange: { color: theme.heat },
      },
      tooltip: {
        ...tooltip(theme, (params) => {
          const cell = (params as { value?: Cell }).value;
          return cell ? describe(cell, scale.edges, unit, now) : null;
        }),
        trigger: "item",
      },
      series: [
        {
          type: "heatmap",
          name: now.name,
          data: cells(now.columns),
          progressive: 0,
          emphasis: { disabled: true },
          markLine: {
            silent: true,
            symbol: "none",
            label: { show: false },
            lineStyle: { color: theme.paper, width: 3, type: "solid" },
            data: now.rules.map((c) => ({ xAxis: c - 0.5 })),
          },
        },
      ],
    };
  });
}

/** Fills the select element, and selects the first subject under test. */
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

function describe([column, row, , count]: Cell, edges: string[], unit: string, now: Map): HTMLElement {
  const [edge, above] = edges.slice(row, row + 2);
  return card(now.moment(column), [
    { name: above ? `${edge} to ${above}` : `from ${edge}`, value: `${count.toLocaleString("en")} ${unit}${count === 1 ? "" : "s"}` },
  ]);
}
