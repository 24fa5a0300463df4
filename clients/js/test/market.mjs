// The server side of examples/live for tests: prices that move at random, and a chat, on the hub of the tests.

import { readFileSync } from "node:fs";
import { Hub } from "./hub.mjs";

const names = {
  AERO: "Aero Dynamics", BOLT: "Bolt Works", CORE: "Core Metals", DUNE: "Dune Energy", ECHO: "Echo Media", FLUX: "Flux Systems",
  GRID: "Grid Power", HALO: "Halo Health", IRIS: "Iris Optics", JADE: "Jade Foods", KITE: "Kite Mobility", LUMO: "Lumo Light",
};
const types = { html: "text/html; charset=utf-8", js: "text/javascript", css: "text/css" };
const dist = new URL("../../../examples/live/web/dist/", import.meta.url);

/** Starts the service; every: milliseconds between prices, 0 for none by itself. tick() publishes the next one. */
export async function market({ every = 0, seed = 7, ...options } = {}) {
  const hub = new Hub(options);
  for (const [path, file] of [["/", "index.html"], ["/live.js", "live.js"], ["/live.css", "live.css"]]) {
    hub.pages.set(path, { type: types[file.split(".").pop()], body: readFileSync(new URL(file, dist)) });
  }
  const said = [];
  const say = (name, text) => {
    const message = { name, text, at: Date.now() };
    said.push({ id: hub.publish({ topic: "chat", type: "message", data: JSON.stringify(message) }), message });
  };
  hub.pages.set("/chat", (q, w) => {
    if (q.method === "GET") return w.end(JSON.stringify(said));
    let body = "";
    q.on("data", (part) => (body += part)).on("end", () => {
      const { name, text } = JSON.parse(body);
      if (text === "/refuse") return w.writeHead(429).end("slow down: one message a second");
      say(name, text);
      w.writeHead(204).end();
    });
  });

  const random = () => (seed = (seed * 1103515245 + 12345) % 2 ** 31) / 2 ** 31;
  const prices = Object.entries(names).map(([symbol, name]) => {
    const open = Math.round((20 + random() * 400) * 100) / 100;
    return { symbol, name, open, price: open };
  });
  const tick = (i = Math.floor(random() * prices.length)) => {
    const p = prices[i];
    p.price = Math.max(1, Math.round(p.price * (1 + (random() - 0.497) * 0.006) * 100) / 100);
    hub.publish({ topic: `prices/${p.symbol}`, type: "price", data: JSON.stringify({ name: p.name, price: p.price, open: p.open, at: Date.now() }) });
  };
  await hub.listen();
  const timer = every && setInterval(() => tick(), every);
  return { hub, say, tick, symbols: prices.length, stop: () => (clearInterval(timer), hub.kill()) };
}
