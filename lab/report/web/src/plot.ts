// A plot: an ECharts instance that follows its element's size and the theme.

import { BarChart, CustomChart, HeatmapChart, LineChart } from "echarts/charts";
import { GridComponent, MarkLineComponent, TooltipComponent, VisualMapComponent } from "echarts/components";
import { type EChartsCoreOption, type EChartsType, init, use } from "echarts/core";
import { CanvasRenderer, SVGRenderer } from "echarts/renderers";
import { type Theme, current } from "./theme";

use([
  BarChart,
  LineChart,
  HeatmapChart,
  CustomChart,
  GridComponent,
  TooltipComponent,
  MarkLineComponent,
  VisualMapComponent,
  SVGRenderer,
  CanvasRenderer,
]);

export interface Scene {
  theme: Theme;
  narrow: boolean;
}

export class Plot {
  private chart: EChartsType;
  private width = 0;

  constructor(
    private readonly element: HTMLElement,
    renderer: "svg" | "canvas",
    private readonly option: (scene: Scene) => EChartsCoreOption,
  ) {
    this.chart = init(element, null, { renderer });
    this.draw();
    new ResizeObserver(() => {
      if (element.clientWidth === this.width || element.clientWidth === 0) return;
      this.chart.resize();
      this.draw();
    }).observe(element);
  }

  draw(): void {
    const theme = current();
    this.width = this.element.clientWidth;
    const option = this.option({ theme, narrow: this.width < 520 });
    this.chart.setOption({ ...base(theme), ...option }, { notMerge: true });
  }

  highlight(name: string | null): void {
    this.chart.dispatchAction({ type: "downplay" });
    if (name !== null) this.chart.dispatchAction({ type: "highlight", seriesName: name });
  }
}

export const font = 'system-ui, "Segoe UI", "Liberation Sans", sans-serif';

function base(theme: Theme): EChartsCoreOption {
  return {
    animation: false,
    backgroundColor: "transparent",
    textStyle: { fontFamily: font, fontSize: 12, color: theme.soft },
  };
}

/** Returns the options of all axes: no boxes, faint rules, small labels. */
export function axis(theme: Theme) {
  return {
    axisLine: { show: false },
    axisTick: { show: false },
    splitLine: { show: true, lineStyle: { color: theme.rule, width: 1 } },
    axisLabel: { color: theme.soft, fontSize: 12, fontFamily: font },
    nameTextStyle: { color: theme.soft, fontSize: 12, fontFamily: font },
  };
}

/** Returns a tooltip with DOM nodes as content: names are text, never markup. */
export function tooltip(theme: Theme, content: (params: unknown) => Node | null) {
  return {
    confine: true,
    backgroundColor: theme.paper,
    borderColor: theme.rule,
    borderWidth: 1,
    padding: [6, 10],
    textStyle: { color: theme.ink, fontSize: 12, fontFamily: font },
    extraCssText: "box-shadow: 0 1px 6px rgb(0 0 0 / 15%); border-radius: 2px;",
    formatter: (params: unknown) => content(params) ?? "",
  };
}

/** Returns a small table for a tooltip: a heading and rows of swatch, name and figure. */
export function card(heading: string, rows: { color?: string; name: string; value: string }[]): HTMLElement {
  const box = document.createElement("div");
  box.className = "card";
  const head = document.createElement("div");
  head.className = "card-head";
  head.textContent = heading;
  box.append(head);
  for (const row of rows) {
    const item = document.createElement("div");
    item.className = "card-row";
    const swatch = document.createElement("i");
    if (row.color) swatch.style.background = row.color;
    const name = document.createElement("span");
    name.textContent = row.name;
    const value = document.createElement("b");
    value.textContent = row.value;
    item.append(swatch, name, value);
    box.append(item);
  }
  return box;
}

/** Prints microseconds without trailing zeros. */
export function micros(us: number, print = digits): string {
  if (us >= 999_500) return `${print(us / 1e6)} s`;
  if (us >= 999.5) return `${print(us / 1e3)} ms`;
  return `${print(us)} µs`;
}

/** Prints microseconds always with three digits, so that figures align. */
export function exactMicros(us: number): string {
  return micros(us, (v) => (v >= 100 ? v.toFixed(0) : v.toPrecision(3)));
}

/** Prints a rate. */
export function rate(v: number): string {
  if (v >= 999_500) return `${digits(v / 1e6)}M`;
  if (v >= 999.5) return `${digits(v / 1e3)}k`;
  return digits(v);
}

/** Prints a number with three digits, without trailing zeros. */
export function digits(v: number): string {
  return String(Number(v.toPrecision(v >= 100 ? Math.max(3, Math.ceil(Math.log10(v + 1))) : 3)));
}
