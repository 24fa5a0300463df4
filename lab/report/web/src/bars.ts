// CPU per request: a bar per subject, its interval as a whisker, the limit as a line.

import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts";
import { Plot, axis, card, digits, font, tooltip } from "./plot";
import { look } from "./theme";
import type { View, Workload } from "./view";

export function bars(element: HTMLElement, view: View, work: Workload): Plot {
  element.style.height = `${work.bars.length * 30 + 62}px`;
  const names = work.bars.map((b) => view.subjects[b.subject]!.name);
  const longest = Math.max(...names.map((n) => n.length), 4);
  return new Plot(element, "svg", ({ theme, narrow }) => {
    const labels = Math.min(longest * 7 + 10, narrow ? 108 : 150);
    return {
      grid: { left: labels, right: 52, top: 22, bottom: 36 },
      xAxis: {
        ...axis(theme),
        type: "value",
        min: 0,
        name: `µs per ${work.unit}`,
        nameLocation: "middle",
        nameGap: 24,
        splitNumber: narrow ? 3 : 5,
      },
      yAxis: {
        ...axis(theme),
        type: "category",
        inverse: true,
        data: names,
        splitLine: { show: false },
        axisLabel: { color: theme.ink, fontSize: 12.5, width: labels - 10, overflow: "truncate" },
      },
      tooltip: {
        ...tooltip(theme, (params) => {
          const b = work.bars[(params as { dataIndex: number }).dataIndex];
          if (!b) return null;
          return card(view.subjects[b.subject]!.name, [
            { name: `CPU per ${work.unit}`, value: `${b.text} µs` },
            { name: "95 % interval", value: `${digits(b.low)}–${digits(b.high)} µs` },
            { name: "compared with baseline", value: b.note },
          ]);
        }),
        trigger: "item",
      },
      series: [
        {
          type: "bar",
          barWidth: 13,
          data: work.bars.map((b) => ({
            value: b.value,
            itemStyle: {
              color: look(view.subjects, b.subject, theme).color,
              opacity: ["floor", "twin"].includes(view.subjects[b.subject]!.role) ? 0.55 : 0.9,
            },
          })),
          emphasis: { disabled: true },
          markLine: limitLine(work.limit, theme.accent, theme.paper),
        },
        {
          type: "custom",
          silent: true,
          data: work.bars.map((b, i) => [b.low, b.high, i]),
          encode: { x: [0, 1], y: 2 },
          z: 5,
          renderItem: (_: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) =>
            whisker(api, work.bars.map((b) => b.text), theme.ink, theme.paper),
        },
      ],
    };
  });
}

function limitLine(limit: number | null, color: string, halo: string) {
  if (limit === null) return undefined;
  return {
    silent: true,
    symbol: "none",
    lineStyle: { color, type: [3, 3], width: 1.25 },
    label: {
      formatter: "limit",
      color,
      fontSize: 12,
      position: "start", // the top, as the axis is inverted
      distance: 3,
      textBorderColor: halo,
      textBorderWidth: 3,
    },
    data: [{ xAxis: limit }],
  };
}

function whisker(api: CustomSeriesRenderItemAPI, texts: string[], ink: string, halo: string) {
  const row = api.value(2) as number;
  const low = api.coord([api.value(0), row]);
  const high = api.coord([api.value(1), row]);
  const y = Math.round(low[1]!) + 0.5;
  const line = (x1: number, y1: number, x2: number, y2: number, width: number, stroke: string) => ({
    type: "line" as const,
    shape: { x1, y1, x2, y2 },
    style: { stroke, lineWidth: width },
  });
  const [l, h] = [low[0]!, high[0]!];
  const strokes = (width: number, stroke: string) => [
    line(l, y, h, y, width, stroke),
    line(l, y - 4, l, y + 4, width, stroke),
    line(h, y - 4, h, y + 4, width, stroke),
  ];
  return {
    type: "group" as const,
    children: [
      ...strokes(3.5, halo), // a halo makes it visible on the bar
      ...strokes(1.25, ink),
      {
        type: "text" as const,
        style: { text: texts[row] ?? "", x: h + 7, y, fill: ink, fontSize: 12, fontFamily: font, verticalAlign: "middle" as const },
      },
    ],
  };
}
