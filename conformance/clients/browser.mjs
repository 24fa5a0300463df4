// Headless Chromium, with the authority in a database of certificates of its own. Arguments: the
// URL of the server, the id of streams, the file of the authority. CHROMIUM names the browser.

import { rejects } from "node:assert";
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { chromium } from "playwright-core";
import { end, same, test } from "./report.mjs";

const [base, id, ca] = process.argv.slice(2);
const launch = () => chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"],
});

const stranger = await launch();
await test("ca", async () => {
  const page = await stranger.newPage();
  await rejects(page.goto(`${base}/hello`), /ERR_CERT_AUTHORITY_INVALID/);
});
await stranger.close();

const db = `${process.env.HOME}/.pki/nssdb`; // the test gives each client a home of its own
mkdirSync(db, { recursive: true });
execFileSync("certutil", ["-N", "--empty-password", "-d", `sql:${db}`]);
execFileSync("certutil", ["-A", "-t", "C,,", "-n", "redline", "-i", ca, "-d", `sql:${db}`]);
const browser = await launch();
console.log(`# Chromium ${browser.version()}`);
const page = await browser.newPage();
const evaluate = (f) => page.evaluate(f, id);

await test("get", async () => same(await (await page.goto(`${base}/hello`)).text(), "HTTP/2.0"));
await test("post", async () => same(await evaluate(async () => {
  const blob = Array.from({ length: 800_000 }, (_, i) => `${i},`).join("").slice(0, 5 << 20);
  const text = await (await fetch("/echo", { method: "POST", body: blob })).text();
  return text === blob ? "same" : `${text.length} bytes`;
}), "same"));
await test("page", async () => {
  await page.goto(`${base}/page?id=${id}`, { waitUntil: "load" });
  same(await evaluate(() => [...new Set(performance.getEntriesByType("resource").map((e) => `${e.nextHopProtocol} ${e.responseStatus}`))].join()), "h2 200");
  same(await evaluate(() => `${performance.getEntriesByType("resource").length}`), "200");
  same(await evaluate(async (i) => (await fetch(`/peers?id=${encodeURIComponent(i)}`)).text()), "1");
});
await test("upload", async () => same(await evaluate(async () => {
  const parts = ["line 0\n", "line 1\n", "line 2\n"];
  const body = new ReadableStream({ pull: (c) => (parts.length ? c.enqueue(new TextEncoder().encode(parts.shift())) : c.close()) });
  return (await fetch("/duplex", { method: "POST", body, duplex: "half" })).text();
}), "line 0\nline 1\nline 2\n"));
await test("stream", async () => same(await evaluate(async (i) => {
  const reader = (await fetch(`/stream?id=${i}`)).body.pipeThrough(new TextDecoderStream()).getReader();
  let all = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    all += part.value;
    await fetch(`/next?id=${i}`);
  }
  return all;
}), "part 0\npart 1\npart 2\n"));
await test("events", async () => same(await evaluate((i) => new Promise((yes, no) => {
  const events = new EventSource(`/events?id=${i}-events`);
  const all = [];
  events.onmessage = async (e) => {
    all.push(e.data);
    if (all.length === 3) { events.close(); yes(all.join()); }
    await fetch(`/next?id=${i}-events`);
  };
  events.onerror = () => no(new Error(`error after ${all}`));
})), "part 0,part 1,part 2"));
await test("websocket", async () => same(await evaluate(() => new Promise((yes, no) => {
  const socket = new WebSocket(`${location.origin.replace("https", "wss")}/ws`);
  const sent = ["a", "b".repeat(3000), "c"];
  let n = 0;
  socket.onopen = () => socket.send(sent[0]);
  socket.onmessage = (e) => {
    if (e.data !== sent[n++]) no(new Error(`message ${n} differs`));
    if (n < sent.length) socket.send(sent[n]);
    else socket.close(1000);
  };
  socket.onclose = (e) => yes(`${n} ${e.code} ${e.wasClean}`);
})), "3 1000 true"));
await browser.close();
end();
