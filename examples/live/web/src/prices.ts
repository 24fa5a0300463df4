// The prices: a tile for each symbol, drawn at most once a frame.

import type { PushEvent } from "@redline-go/push";
import { curve, find, make, perFrame, shape } from "./page";

/** The payload of an event of topic prices/SYMBOL. */
interface Price {
  name: string;
  price: number;
  /** The day's first price. */
  open: number;
}

/** Points of a curve. */
const points = 60;
/** Tiles at most, whatever the server sends. */
const most = 60;
const width = 120, height = 36;

class Tile {
  readonly element = make("li", "tile");
  readonly #price = make("strong");
  readonly #change = make("span", "change");
  readonly #line = shape("path", { class: "line" });
  readonly #area = shape("path", { class: "area" });
  readonly #values: number[] = [];
  #latest: Price;
  changed = false;

  constructor(symbol: string, first: Price) {
    this.#latest = first;
    const head = make("div", "head");
    head.append(make("b", "", symbol), make("span", "name", first.name));
    const figures = make("div", "figures");
    figures.append(this.#price, this.#change);
    const chart = shape("svg", { viewBox: `0 -3 ${width} ${height + 6}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    chart.append(this.#area, this.#line);
    this.element.append(head, figures, chart);
  }

  get gain(): number {
    return this.#latest.price - this.#latest.open;
  }

  take(price: Price): void {
    this.#latest = price;
    this.#values.push(price.price);
    if (this.#values.length > points) this.#values.shift();
    this.changed = true;
  }

  draw(): void {
    if (!this.changed) return;
    this.changed = false;
    const { price, open } = this.#latest;
    const before = this.#price.textContent;
    this.#price.textContent = price.toFixed(2);
    const share = open ? ((price - open) / open) * 100 : 0;
    const arrow = share > 0.004 ? "▲" : share < -0.004 ? "▼" : "•";
    this.#change.textContent = `${arrow} ${Math.abs(share).toFixed(2)} %`;
    this.element.dataset.trend = share > 0.004 ? "up" : share < -0.004 ? "down" : "flat";
    if (before && +before !== price) {
      for (const running of this.#price.getAnimations()) running.cancel();
      this.#price.animate([{ color: `var(--${price > +before ? "up" : "down"})` }, { color: "var(--ink)" }], 700);
    }
    const low = Math.min(...this.#values), high = Math.max(...this.#values);
    const path = curve(this.#values, width, height, low, high);
    this.#line.setAttribute("d", path);
    this.#area.setAttribute("d", `${path}V${height + 3}H0Z`);
  }
}

/** Shows prices. The result takes events. */
export function prices(): (event: PushEvent) => void {
  const list = find("prices");
  const breadth = find("breadth");
  const tiles = new Map<string, Tile>();
  const draw = perFrame(() => {
    let up = 0;
    for (const tile of tiles.values()) {
      tile.draw();
      if (tile.gain > 0) up++;
    }
    breadth.textContent = `${up} of ${tiles.size} up since the open`;
  });
  return (event) => {
    const symbol = event.topic.split("/")[1] ?? "";
    const price = event.json<Price>();
    let tile = tiles.get(symbol);
    if (!tile) {
      if (tiles.size === most) return;
      if (!tiles.size) list.replaceChildren();
      tile = new Tile(symbol, price);
      tiles.set(symbol, tile);
      const after = [...tiles.keys()].filter((s) => s > symbol).sort()[0];
      list.insertBefore(tile.element, after === undefined ? null : tiles.get(after)!.element);
    }
    tile.take(price);
    draw();
  };
}
