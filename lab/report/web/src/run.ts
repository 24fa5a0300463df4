// Draws the page of a load run: figures over seconds, latency by percentile, and a
// heat map. Go has calculated all figures: see lab/load/page.

import type { Drawn } from "./comparison";
import { curves, steps } from "./curves";
import { map } from "./heat";
import { type Legend, legend } from "./legend";
import { Plot, axis, card, digits, exactMicros, micros, rate, tooltip } from "./plot";
import { type Entry, type Look, type Theme, current } from "./theme";
import { type Rows, data, find } from "./view";

interface Run extends OverTime {
  unit: string;
  curves: { name: string; points: [number, number][] }[];
  heat: Rows & { columns: number[][] };
}

/** The part of a page with charts over time. */
export interface OverTime {
  axis: Axis;
  /** Where steps of arrivals begin, in seconds of the window. */
  bounds: number[];
  charts: Chart[];
}

/** Columns of the time axis; start and step are in seconds, and the window begins at 0. */
interface Axis {
  start: number;
  step: number;
  columns: number;
}

interface Chart {
  plot: string;
  print: keyof typeof prints;
  log: boolean;
  lines: { name: string; look: keyof typeof looks; values: (number | null)[] }[];
  /** What happened at a time, in seconds: a rule with its name. */
  marks?: { at: number; text: string }[];
}

const prints = {
  rate: (v: number) => `${rate(v)}/s`,
  micros: (v: number) => micros(v),
  count: (v: number) => rate(v),
  cpus: (v: number) => digits(v),
  mebibytes: (v: number) => `${digits(v)} MiB`,
  bytes: (v: number) => binary(v),
  byterate: (v: number) => `${binary(v)}/s`,
  share: (v: number) => `${digits(100 * v)} %`,
};

const binaries = ["B", "KiB", "MiB", "GiB", "TiB"];

/** Returns the exponent of the binary unit in which bytes are printed. */
function power(bytes: number): number {
  let i = 0;
  for (; bytes >= 999.5 && i < binaries.length - 1; i++) bytes /= 1024;
  return i;
}

/** Prints bytes in binary units. */
function binary(v: number): string {
  const i = power(v);
  return `${digits(v / 1024 ** i)} ${binaries[i]}`;
}

/** Styles of lines, which differ in colour and dashes. */
const looks = {
  first: (t: Theme): Look => ({ color: t.hues[0]!, dash: "solid", width: 2 }),
  second: (t: Theme): Look => ({ color: t.hues[1]!, dash: [6, 3], width: 1.75 }),
  third: (t: Theme): Look => ({ color: t.hues[2]!, dash: [2, 2], width: 1.75 }),
  fourth: (t: Theme): Look => ({ color: t.hues[3]!, dash: [8, 2, 2, 2], width: 1.75 }),
  fifth: (t: Theme): Look => ({ color: t.hues[4]!, dash: [4, 4], width: 1.75 }),
  sixth: (t: Theme): Look => ({ color: t.hues[5]!, dash: [10, 3], width: 1.75 }),
  seventh: (t: Theme): Look => ({ color: t.hues[6]!, dash: [3, 3], width: 1.75 }),
  eighth: (t: Theme): Look => ({ color: t.hues[7]!, dash: [12, 3, 3, 3], width: 1.75 }),
  asked: (t: Theme): Look => ({ color: t.soft, dash: [8, 4], width: 1.75 }),
  bad: (t: Theme): Look => ({ color: t.accent, dash: "solid", width: 1.75 }),
};

/** Draws the charts over time, with their legends. */
export function charts(drawn: Drawn, view: OverTime): void {
  for (const chart of view.charts) {
    const at = find<HTMLElement>(document, `[data-plot=${chart.plot}]`);
    const entries = chart.lines.map((l, id): Entry => ({ id, name: l.name, look: looks[l.look] }));
    const hidden = new Set<number>();
    const plot = overTime(at, view, chart, entries, hidden);
    drawn.plots.push(plot);
    if (entries.length > 1) keys(drawn, at, entries, hidden, plot);
  }
}

function keys({ legends }: Drawn, at: HTMLElement, entries: Entry[], hidden: Set<number>, plot: Plot): void {
  const element = find<HTMLElement>(at.parentElement!, ".legend");
  legends.push(legend(element, entries, hidden, () => plot.draw(), (name) => plot.highlight(name)));
}

export function run(drawn: Drawn): void {
  const { plots, legends } = drawn;
  const view = data<Run>("view");
  charts(drawn, view);
  if (view.curves.length > 0) {
    const names = ["first", "second", "third"] as const;
    const list = view.curves.map((c, id) => ({ points: c.points, entry: { id, name: c.name, look: looks[names[id % 3]!] } }));
    const at = find<HTMLElement>(document, "[data-plot=latency]");
    const hidden = new Set<number>();
    const plot = curves(at, list, hidden);
    plots.push(plot);
    if (list.length > 1) keys(drawn, at, list.map((c) => c.entry), hidden, plot);
  }
  if (view.heat.columns.length > 0) {
    plots.push(heat(view));
    legends.push(shades(find(document, ".shades"), view));
  }
}

/** Draws a figure over seconds, with gaps where nothing was measured. */
function overTime(element: HTMLElement, view: OverTime, chart: Chart, entries: Entry[], hidden: Set<number>): Plot {
  const print = prints[chart.print];
  const time = view.axis;
  const end = time.start + time.step * time.columns;
  return new Plot(element, "svg", ({ theme, narrow }) => {
    const common = axis(theme);
    return {
      grid: { left: 62, right: 14, top: 12, bottom: 30 },
      xAxis: {
        ...common,
        type: "value",
        min: time.start,
        max: end,
        splitNumber: narrow ? 4 : 6,
        axisLabel: { ...common.axisLabel, showMinLabel: time.start === 0, showMaxLabel: false, formatter: (v: number) => `${digits2(v, places(time))} s` },
        axisPointer: { label: { show: false }, lineStyle: { color: theme.soft, type: "solid", width: 1 } },
      },
      yAxis: { ...common, ...scale(chart, hidden), axisLabel: { ...common.axisLabel, formatter: (v: number) => print(v), ...custom(chart, hidden) } },
      tooltip: {
        ...tooltip(theme, (params) => {
          const list = (params as { color: string; seriesName: string; value: [number, number | null] }[]).filter(
            (p) => typeof p.value[1] === "number",
          );
          const first = list[0];
          if (!first) return null;
          const exact = chart.print === "micros" ? exactMicros : print;
          return card(
            moment(time, Math.floor((first.value[0] - time.start) / time.step)),
            list.map((p) => ({ color: p.color, name: p.seriesName, value: exact(p.value[1]!) })),
          );
        }),
        trigger: "axis",
      },
      series: chart.lines
        .map((l, i) => ({ l, entry: entries[i]! }))
        .filter(({ entry }) => !hidden.has(entry.id))
        .map(({ l, entry }, n) => {
          const style = entry.look(theme);
          return {
            type: "line",
            name: l.name,
            data: l.values.map((v, i) => [time.start + (i + 0.5) * time.step, chart.log && v === 0 ? null : v]),
            showSymbol: lonely(l.values),
            symbol: "circle",
            symbolSize: 4,
            connectNulls: false,
            lineStyle: { color: style.color, type: style.dash, width: style.width },
            itemStyle: { color: style.color },
            emphasis: { focus: "series", lineStyle: { width: style.width + 1 } },
            blur: { lineStyle: { opacity: 0.15 } },
            markLine: n === 0 ? rules(theme, narrow, view, chart) : undefined,
          };
        }),
    };
  });
}

/** Reports whether a line has points without a neighbour, which would be invisible. */
function lonely(values: (number | null)[]): boolean {
  return values.some((v, i) => v !== null && (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null);
}

/** Returns the rules at the end of the warm-up, between the steps of arrivals, and where something happened. */
function rules(theme: Theme, narrow: boolean, view: OverTime, chart: Chart) {
  const data: object[] = view.bounds.map((at) => ({ xAxis: at, label: { show: false, formatter: "" } }));
  for (const mark of chart.marks ?? []) {
    data.push({ xAxis: mark.at, label: { show: true, formatter: mark.text, color: theme.accent }, lineStyle: { color: theme.accent } });
  }
  if (view.axis.start < 0) data.unshift({ xAxis: 0, label: { show: !narrow, formatter: "window" } });
  if (data.length === 0) return undefined;
  return {
    silent: true,
    symbol: "none",
    lineStyle: { color: theme.soft, type: [2, 3], width: 1 },
    label: { color: theme.soft, fontSize: 11, position: "insideEndBottom", rotate: 90 },
    data,
  };
}

function shownValues(chart: Chart, hidden: Set<number>): number[] {
  return chart.lines.filter((_, i) => !hidden.has(i)).flatMap((l) => l.values.filter((v): v is number => v !== null && (!chart.log || v > 0)));
}

/** Returns the ticks of a logarithmic axis: at most eight, whole decades if there are many. */
function marks(chart: Chart, hidden: Set<number>): number[] {
  const values = shownValues(chart, hidden);
  const all = steps(Math.min(...values), Math.max(...values));
  if (all.length <= 8) return all;
  const first = Math.floor(Math.log10(all[0]!));
  return Array.from({ length: Math.ceil(Math.log10(all.at(-1)!)) - first + 1 }, (_, i) => Number(`1e${first + i}`));
}

function scale(chart: Chart, hidden: Set<number>) {
  const highest = Math.max(...shownValues(chart, hidden), 0);
  const nothing = highest === 0;
  if (chart.print.startsWith("byte") && !nothing) {
    const unit = 1024 ** power(highest);
    const interval = oneTwoFive(highest / unit / 5) * unit;
    return { type: "value", min: 0, interval, max: Math.ceil(highest / interval) * interval };
  }
  if (!chart.log) return { type: "value", min: 0, splitNumber: 4, ...(nothing ? { max: 1, interval: 1 } : {}) };
  const ticks = marks(chart, hidden);
  return { type: "log", min: ticks[0], max: ticks.at(-1), axisTick: { show: false, customValues: ticks } };
}

function custom(chart: Chart, hidden: Set<number>) {
  return chart.log ? { customValues: marks(chart, hidden) } : {};
}

function heat(view: Run): Plot {
  const { axis: time, heat: all } = view;
  const element = find<HTMLElement>(document, "[data-plot=heat]");
  const zero = Math.round(-time.start / time.step);
  return map(element, all, view.unit, () => {
    const every = nice((time.columns * time.step) / (element.clientWidth < 520 ? 4 : 8), time.step);
    return {
      name: "latency",
      columns: all.columns,
      rules: [...(zero > 0 ? [zero] : []), ...view.bounds.map((b) => zero + Math.round(b / time.step))],
      labelled: (i) => (i - zero) % every === 0,
      label: (i) => `${digits2((i - zero) * time.step)} s`,
      moment: (i) => moment(time, i),
    };
  });
}

/** Builds the legend of the heat map: the counts of its colours. */
function shades(element: HTMLElement, view: Run): Legend {
  const bar = document.createElement("i");
  const text = (v: number) => {
    const label = document.createElement("span");
    label.textContent = Math.round(v).toLocaleString("en");
    return label;
  };
  const { max } = view.heat;
  element.append(`${view.unit}s in a cell`, text(1), bar);
  if (max > 1) element.append(text(max));
  const recolor = () => {
    bar.style.background = `linear-gradient(to right, ${current().heat.join(", ")})`;
  };
  recolor();
  return { recolor };
}

/** Returns the next number that is 1, 2 or 5 times a power of ten. */
function oneTwoFive(v: number): number {
  const unit = 10 ** Math.floor(Math.log10(v));
  return [1, 2, 5, 10].find((m) => m * unit >= v)! * unit;
}

/** Returns a round number of columns for about the given seconds. */
function nice(seconds: number, step: number): number {
  return Math.max(1, Math.round(oneTwoFive(seconds) / step));
}

/** Returns a column of the time axis as text. */
function moment(time: Axis, column: number): string {
  const from = time.start + column * time.step;
  const text = `${digits2(from, places(time))} to ${digits2(from + time.step, places(time))} s`;
  return from < -1e-9 ? `${text}, warm-up` : text;
}

/** Returns the decimal places of seconds on a time axis. */
function places(time: Axis): number {
  return time.step < 0.02 ? 5 : 2;
}

function digits2(v: number, places = 2): string {
  return String(Number(v.toFixed(places)));
}
