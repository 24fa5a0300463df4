// What the parts of the page share.

/** Finds an element that index.html has. */
export function find<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

/** Creates an element with a class and text: text from the network never becomes HTML. */
export function make<K extends keyof HTMLElementTagNameMap>(tag: K, name = "", text = ""): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  element.className = name;
  element.textContent = text;
  return element;
}

const svg = "http://www.w3.org/2000/svg";

/** Creates an element of SVG. */
export function shape(tag: string, attributes: Record<string, string>): SVGElement {
  const element = document.createElementNS(svg, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** The time of day, as 17:04:59. */
export const clock = (ms: number) => new Date(ms).toLocaleTimeString("en", { hourCycle: "h23", hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** Calls f before the next picture, once for all calls until then. */
export function perFrame(f: () => void): () => void {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      f();
    });
  };
}

/** Draws values as the path of a curve in a box, from left to right. */
export function curve(values: readonly number[], width: number, height: number, low: number, high: number): string {
  const step = width / Math.max(values.length - 1, 1);
  const y = (v: number) => (high > low ? height - ((v - low) / (high - low)) * height : height / 2);
  return values.map((v, i) => `${i ? "L" : "M"}${(i * step).toFixed(1)} ${y(v).toFixed(1)}`).join("");
}
