// A figure over time: the windows of the blocks in sequence.

import { Plot, axis, card, tooltip } from "./plot";
import { type Theme, look } from "./theme";
import type { Grid, Lines, View, Workload } from "./view";

export function lines(
  element: HTMLElement,
  view: View,
  work: Workload,
  hidden: Set<number>,
  pick: (l: Lines) => (number | null)[],
  print: (v: number) => string,
): Plot {
  const grid = work.grid;
  return new Plot(element, "svg", ({ theme, narrow }) => ({
    grid: { left: 56, right: 14, top: 12, bottom: 30 },
    xAxis: blocksAxis(grid, theme, narrow),
    yAxis: {
      ...axis(theme),
      type: "value",
      min: 0,
      splitNumber: 4,
      axisLabel: { color: theme.soft, fontSize: 12, formatter: print },
    },
    tooltip: {
      ...tooltip(theme, (params) => {
        const list = (params as { color: string; seriesName: string; value: [number, number | null] }[]).filter(
          (p) => typeof p.value[1] === "number",
        );
        const first = list[0];
        if (!first) return null;
        return card(
          moment(grid, Math.floor(first.value[0])),
          list
            .toSorted((a, b) => b.value[1]! - a.value[1]!)
            .map((p) => ({ color: p.color, name: p.seriesName, value: print(p.value[1]!) })),
        );
      }),
      trigger: "axis",
    },
    series: work.lines
      .filter((l) => !hidden.has(l.subject))
      .map((l) => {
        const style = look(view.subjects, l.subject, theme);
        return {
          type: "line",
          name: view.subjects[l.subject]!.name,
          data: points(pick(l), grid),
          showSymbol: false,
          symbol: "circle",
          symbolSize: 4,
          connectNulls: false,
          lineStyle: { color: style.color, type: style.dash, width: style.width - 0.25 },
          itemStyle: { color: style.color },
          emphasis: { focus: "series", lineStyle: { width: style.width + 1 } },
          blur: { lineStyle: { opacity: 0.12 } },
        };
      }),
  }));
}

/** Returns the points of a line with gaps between blocks: each block is another process. */
function points(values: (number | null)[], grid: Grid): [number, number | null][] {
  const out: [number, number | null][] = [];
  values.forEach((v, i) => {
    if (i > 0 && i % grid.per_block === 0) out.push([i, null]);
    out.push([i + 0.5, v]);
  });
  return out;
}

/** Returns the time axis: rules between the blocks, a number in the middle of each. */
function blocksAxis(grid: Grid, theme: Theme, narrow: boolean) {
  const middles = grid.blocks.map((_, i) => (i + 0.5) * grid.per_block);
  const common = axis(theme);
  return {
    ...common,
    type: "value",
    min: 0,
    max: Math.max(1, grid.blocks.length * grid.per_block),
    interval: Math.max(1, grid.per_block),
    axisLabel: {
      ...common.axisLabel,
      customValues: middles,
      formatter: (v: number) => {
        const i = middles.findIndex((m) => Math.abs(m - v) < 1e-6);
        return i < 0 ? "" : blockName(grid, i, narrow);
      },
    },
    axisPointer: { label: { show: false }, lineStyle: { color: theme.soft, type: "solid", width: 1 } },
  };
}

/** Returns the name of the i-th block on an axis. */
export function blockName(grid: Grid, i: number, narrow: boolean): string {
  const n = grid.blocks[i] ?? 0;
  return (narrow || grid.blocks.length > 6) && i > 0 ? String(n) : `block ${n}`;
}

/** Returns a column of the time axis as text. */
export function moment(grid: Grid, column: number): string {
  const block = grid.blocks[Math.floor(column / grid.per_block)] ?? 0;
  return `block ${block}, ${((column % grid.per_block) * grid.step).toFixed(1)} s`;
}
