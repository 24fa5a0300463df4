// A legend for one or more charts: a click hides a line, hovering highlights it.

import { type Entry, type Look, current } from "./theme";

export interface Legend {
  recolor(): void;
}

export function legend(
  element: HTMLElement,
  entries: Entry[],
  hidden: Set<number>,
  redraw: () => void,
  stress: (name: string | null) => void,
): Legend {
  const swatches: { entry: Entry; line: SVGLineElement }[] = [];
  for (const entry of entries) {
    const { id, name } = entry;
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-pressed", String(!hidden.has(id)));
    const { svg, line } = swatch();
    swatches.push({ entry, line });
    button.append(svg, name);
    button.addEventListener("click", () => {
      if (!hidden.delete(id)) hidden.add(id);
      button.setAttribute("aria-pressed", String(!hidden.has(id)));
      redraw();
    });
    button.addEventListener("pointerenter", () => stress(name));
    button.addEventListener("pointerleave", () => stress(null));
    element.append(button);
  }
  const recolor = () => {
    for (const s of swatches) paint(s.line, s.entry.look(current()));
  };
  recolor();
  return { recolor };
}

const namespace = "http://www.w3.org/2000/svg";

function swatch() {
  const svg = document.createElementNS(namespace, "svg");
  svg.setAttribute("width", "26");
  svg.setAttribute("height", "10");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(namespace, "line");
  for (const [k, v] of Object.entries({ x1: "1", y1: "5", x2: "25", y2: "5" })) line.setAttribute(k, v);
  svg.append(line);
  return { svg, line };
}

function paint(line: SVGLineElement, style: Look): void {
  line.setAttribute("stroke", style.color);
  line.setAttribute("stroke-width", String(style.width + 0.5));
  const dash = style.dash === "dotted" ? [2, 2] : style.dash === "dashed" ? [5, 3] : style.dash;
  line.setAttribute("stroke-dasharray", Array.isArray(dash) ? dash.join(" ") : "none");
}
