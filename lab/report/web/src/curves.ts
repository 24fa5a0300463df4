// Latency by percentile, both axes logarithmic.

import { Plot, axis, card, exactMicros, micros, tooltip } from "./plot";
import type { Entry } from "./theme";
import type { Curve } from "./view";

const marks = [0.5, 0.9, 0.99, 0.999, 0.9999].map((p) => Number((-Math.log10(1 - p)).toFixed(4)));
const markText = ["50", "90", "99", "99.9", "99.99"];

export function curves(element: HTMLElement, list: (Pick<Curve, "points"> & { entry: Entry })[], hidden: Set<number>): Plot {
  return new Plot(element, "svg", ({ theme, narrow }) => {
    const values = list.flatMap((c) => c.points.map((p) => p[1])).filter((v) => v > 0);
    const ticks = steps(Math.min(...values), Math.max(...values));
    const x = {
      ...axis(theme),
      type: "value",
      min: marks[0],
      max: Math.max(1, ...list.flatMap((c) => c.points.map((p) => p[0]))),
      name: "percentile",
      nameLocation: "middle",
      nameGap: 24,
    };
    return {
      grid: { left: 56, right: 24, top: 12, bottom: 42 },
      xAxis: {
        ...x,
        axisTick: { show: false, customValues: marks },
        axisLabel: {
          ...x.axisLabel,
          customValues: marks,
          formatter: (v: number) => markText[marks.findIndex((m) => Math.abs(m - v) < 1e-6)] ?? "",
        },
        axisPointer: { label: { show: false }, lineStyle: { color: theme.soft, type: "solid", width: 1 } },
      },
      yAxis: {
        ...axis(theme),
        type: "log",
        min: ticks[0],
        max: ticks.at(-1),
        axisTick: { show: false, customValues: ticks },
        axisLabel: { color: theme.soft, fontSize: 12, customValues: ticks, formatter: (v: number) => micros(v) },
      },
      tooltip: {
        ...tooltip(theme, (params) => {
          const hit = params as { color: string; seriesName: string; value: [number, number] }[];
          const first = hit[0];
          if (!first) return null;
          const p = 100 * (1 - 10 ** -first.value[0]);
          return card(
            `p${p >= 99 ? p.toFixed(p >= 99.9 ? 3 : 2) : p.toFixed(1)}`,
            hit
              .toSorted((a, b) => a.value[1] - b.value[1])
              .map((s) => ({ color: s.color, name: s.seriesName, value: exactMicros(s.value[1]) })),
          );
        }),
        trigger: "axis",
      },
      series: list
        .filter((c) => !hidden.has(c.entry.id))
        .map((c) => {
          const style = c.entry.look(theme);
          return {
            type: "line",
            name: c.entry.name,
            data: c.points,
            showSymbol: false,
            symbol: "circle",
            symbolSize: narrow ? 4 : 5,
            lineStyle: { color: style.color, type: style.dash, width: style.width },
            itemStyle: { color: style.color },
            emphasis: { focus: "series", lineStyle: { width: style.width + 1 } },
            blur: { lineStyle: { opacity: 0.15 } },
          };
        }),
    };
  });
}

/** The 1, 2, 5 steps that enclose low and high. */
export function steps(low: number, high: number): number[] {
  if (!(low > 0) || !Number.isFinite(high)) return [1, 10];
  const all: number[] = [];
  for (let e = Math.floor(Math.log10(low)) - 1; e <= Math.ceil(Math.log10(high)); e++) {
    for (const m of [1, 2, 5]) all.push(Number((m * 10 ** e).toPrecision(1)));
  }
  const from = Math.max(0, all.findLastIndex((v) => v <= low));
  const to = all.findIndex((v) => v >= high);
  const out = all.slice(from, to < 0 ? undefined : to + 1);
  return out.length < 2 ? [out[0] ?? 1, (out[0] ?? 1) * 2] : out;
}
