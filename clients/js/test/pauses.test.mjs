// Pauses between attempts, on a clock that the test turns.

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { listen } from "./helpers.mjs";

const start = Date.UTC(2026, 0, 1);
const at = "http://hub.test/events";
const stream = (body) => new Response(body, { headers: { "Content-Type": "text/event-stream" } });

/** Lets everything that is not a timer happen. */
async function settle() {
  for (let i = 0; i < 50; i++) await new Promise((done) => setImmediate(done));
}

let seed = 1;
const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
let chance; // what Math.random returns, if not undefined
beforeEach(() => {
  chance = 0.5;
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: start });
  mock.method(Math, "random", () => chance ?? random());
});

/** A subscription whose attempts are answered by answer(n); pauses() lists the pauses so far. */
function attempts(t, answer, options) {
  let n = 0;
  const c = listen(t, at, { retry: undefined, ...options, fetch: async (url, init) => answer(n++, init) });
  t.after(() => mock.timers.reset());
  return { c, count: () => n, pauses: () => c.statuses.filter((s) => s.state === "waiting").map((s) => s.delay) };
}

test("pauses are random below a bound that doubles up to a limit", async (t) => {
  const { pauses } = attempts(t, () => Promise.reject(new TypeError("refused")));
  for (const share of [0.5, 0.25, 1, 0, 0.999, 1, 1, 1, 1]) {
    chance = share;
    await settle();
    mock.timers.tick(30_000);
  }
  await settle();
  assert.deepEqual(pauses().slice(0, 9), [500, 500, 4000, 0, 15_984, 30_000, 30_000, 30_000, 30_000]);
});

test("retry: replaces the first bound, and is bounded itself", async (t) => {
  const bodies = ["retry: 4000\n\n", "retry: 99999999999999999999\n\n"];
  const { pauses } = attempts(t, (n) => stream(bodies[n]));
  await settle();
  assert.deepEqual(pauses(), [2000]);
  mock.timers.tick(2000);
  await settle();
  assert.deepEqual(pauses(), [2000, 15_000]);
});

test("retry_ms of the hub's start does too", async (t) => {
  const bodies = {
    ndjson: ['{"id":"1-0","type":"hub:start","data":{"retry_ms":4000}}\n', '{"type":"hub:start","data":{"retry_ms":1e30}}\n', '{"type":"hub:start","data":{"retry_ms":0}}\n'],
    // As package push/format writes it: id, type, and Start.
    protobuf: ["\x15\x12\x031-0\x1a\x09hub:start\x3a\x03\x08\xa0\x1f", "\x18\x1a\x09hub:start\x3a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x0f\x1a\x09hub:start\x3a\x02\x08\x00"],
  };
  const types = { ndjson: "application/x-ndjson", protobuf: "application/vnd.redline.events+protobuf" };
  for (const [format, texts] of Object.entries(bodies)) {
    const { c, pauses } = attempts(t, (n) => new Response(Buffer.from(texts[n] ?? "", "latin1"), { headers: { "Content-Type": types[format] } }), { format });
    for (const pause of [2000, 15_000, 200]) { // 0 counts as 100
      await settle();
      assert.equal(pauses().at(-1), pause, format);
      mock.timers.tick(pause);
    }
    assert.deepEqual(c.events, []);
    c.subscription.close();
  }
});

test("a hub's start that says nothing that is a time changes no pause", async (t) => {
  for (const said of ["{}", '{"retry_ms":"soon"}', '{"retry_ms":null}', '{"retry_ms":[]}']) {
    const { c, pauses } = attempts(t, () => new Response(`{"type":"hub:start","data":${said}}\n`, { headers: { "Content-Type": "application/x-ndjson" } }), { format: "ndjson" });
    await settle();
    assert.deepEqual(pauses(), [500], said);
    c.subscription.close();
  }
});

test("retry: 0 and the option 0 leave pauses that grow", async (t) => {
  for (const [body, retry, want] of [["retry: 0\n\n", undefined, [50, 100, 200, 400]], ["", 0, [500, 1000, 2000, 4000]]]) {
    const { c, pauses } = attempts(t, () => stream(body), { retry });
    for (const pause of want) {
      await settle();
      assert.equal(pauses().at(-1), pause);
      mock.timers.tick(pause);
    }
    c.subscription.close();
  }
});

test("a network that is back ends a random pause, and none that the server has asked for", async (t) => {
  const page = new EventTarget();
  for (const name of ["addEventListener", "removeEventListener"]) {
    globalThis[name] = page[name].bind(page);
    t.after(() => delete globalThis[name]);
  }
  const answers = [
    () => new Response("", { status: 503, headers: { "Retry-After": "30" } }),
    () => stream('event: hub:bye\ndata: {"reason":"shutdown","retry_ms":2000}\n\n'),
  ];
  const { c, count } = attempts(t, (n) => answers[n]?.() ?? Promise.reject(new TypeError("refused")));
  const online = async () => {
    for (let i = 0; i < 5; i++) page.dispatchEvent(new Event("online"));
    await settle();
  };
  for (const [n, pause] of [[1, 30_500], [2, 2500]]) { // attempts begin anew with each "online"
    await settle();
    await online();
    assert.equal(count(), n);
    mock.timers.tick(pause);
  }
  await settle();
  assert.equal(count(), 3);
  assert.equal(c.state(), "waiting");
  page.dispatchEvent(new Event("online"));
  await settle();
  assert.equal(count(), 4);
});

test("Retry-After adds to the random pause, and is bounded", async (t) => {
  const fields = ["7", new Date(start + 20_000).toUTCString(), "1e99", "soon", "-3"];
  const { pauses } = attempts(t, (n) => new Response("", { status: 503, headers: n in fields ? { "Retry-After": fields[n] } : {} }), { maxRetry: 1000 });
  const want = [7500, 20_000 - 7500 + 500, 3_600_500, 500, 500, 500];
  for (let n = 1; n <= want.length; n++) {
    await settle();
    assert.deepEqual(pauses(), want.slice(0, n));
    mock.timers.tick(want[n - 1]);
  }
});

test("a connection that has lived begins the pauses anew, one that was cut at once does not", async (t) => {
  let body;
  const { pauses, c } = attempts(t, () => stream(new ReadableStream({ start: (s) => (body = s) })));
  for (const [life, pause] of [[0, 500], [5000, 1000], [100, 2000], [5001, 500], [0, 1000]]) {
    await settle();
    body.enqueue(new TextEncoder().encode("id: 1\n\n"));
    await settle();
    assert.equal(c.state(), "open");
    mock.timers.tick(life);
    body.error(new Error("cut"));
    await settle();
    assert.equal(pauses().at(-1), pause, `after ${life} ms`);
    mock.timers.tick(pause);
  }
});

test("a server that says bye at once does not get around the pauses", async (t) => {
  const { pauses } = attempts(t, () => stream('event: hub:bye\ndata: {"reason":"lifetime","retry_ms":-5}\n\n'));
  for (let i = 0; i < 4; i++) {
    await settle();
    mock.timers.tick(30_000);
  }
  assert.deepEqual(pauses(), [500, 1000, 2000, 4000]);
});

test("a client that is turned away is not open, one that got anything else is at once, and one that hears nothing soon", async (t) => {
  const bye = (reason) => `event: hub:bye\ndata: {"reason":"${reason}","retry_ms":5}\n\n`;
  const answers = [
    stream(`retry: 5\n\n${bye("limit")}`), stream(`retry: 5\n${bye("broker")}`), stream(bye("shutdown")), stream(""),
    stream(`id: 1-0\n\n${bye("lifetime")}`), stream(`data: x\n\n${bye("lifetime")}`), stream('event: hub:gap\ndata: {"reason":"epoch"}\n\n'),
    stream(new ReadableStream()),
  ];
  const { c, count } = attempts(t, (n) => answers[n]);
  const opened = [];
  for (let n = 0; n < answers.length; n++) {
    const before = c.log.length;
    await settle();
    opened.push(c.log.slice(before).includes("open"));
    if (n < answers.length - 1) mock.timers.tick(30_000);
  }
  assert.equal(count(), answers.length);
  assert.deepEqual(opened, [false, false, false, false, true, true, true, false]);
  assert.deepEqual(c.statuses.filter((s) => s.reason).slice(0, 3).map((s) => s.reason), ["limit", "broker", "shutdown"]);
  mock.timers.tick(1000);
  assert.equal(c.state(), "open");
});

test("a bye after a while is followed to the millisecond, up to an hour", async (t) => {
  let body;
  const { pauses } = attempts(t, () => stream(new ReadableStream({ start: (s) => (body = s) })));
  for (const [asked, pause] of [[1234, 1234], [0, 0], [1e12, 3_600_000]]) {
    await settle();
    mock.timers.tick(6000);
    body.enqueue(new TextEncoder().encode(`event: hub:bye\ndata: {"reason":"shutdown","retry_ms":${asked}}\n\n`));
    await settle();
    assert.equal(pauses().at(-1), pause);
    mock.timers.tick(pause);
  }
});

test("clients that were lost together come back spread over the pause", async (t) => {
  chance = undefined;
  const parts = new Array(5).fill(0);
  for (let i = 0; i < 500; i++) {
    const { pauses, c } = attempts(t, () => Promise.reject(new TypeError("refused")), { retry: 10_000 });
    while (!pauses().length) await new Promise(setImmediate);
    parts[Math.min(4, Math.floor(pauses()[0] / 2000))]++; // 9999.6 is announced as 10,000
    c.subscription.close();
  }
  for (const n of parts) assert.ok(n > 50 && n < 150, `${parts}`); // 100 each, with a deviation of 9
});

test("a clock that is set back does not blind the watchdog", async (t) => {
  let body, offset = 0;
  const now = Date.now;
  mock.method(Date, "now", () => now() + offset);
  t.after(() => Date.now.mock.restore());
  const { c, count } = attempts(t, () => stream(new ReadableStream({ start: (s) => (body = s) })));
  await settle();
  offset = -3_600_000;
  mock.timers.tick(40_000);
  body.enqueue(new TextEncoder().encode(":\n\n"));
  await settle();
  mock.timers.tick(45_000);
  await settle();
  assert.equal(count(), 1, "a heartbeat in time");
  mock.timers.tick(12_000);
  await settle();
  assert.equal(c.statuses.at(-1).reason, "nothing received for 45000 ms");
});

test("an hour in a moment: 36,000 events, a bye each minute, cuts and silences", async (t) => {
  const hub = { seq: 0, body: undefined, gone: 0 };
  let silent = false; // until the next connection
  const { c, count } = attempts(t, (n, { headers, signal }) => {
    const last = +(headers.get("Last-Event-ID") ?? 0);
    let own;
    silent = false;
    const response = stream(new ReadableStream({ start: (s) => (own = hub.body = s) }));
    for (let id = last + 1; id <= hub.seq && last; id++) own.enqueue(new TextEncoder().encode(`id: ${id}\ndata: ${id}\n\n`));
    signal.addEventListener("abort", () => {
      hub.gone++;
      if (hub.body === own) hub.body = undefined;
    });
    return response;
  });
  await settle();
  const send = (text) => !silent && hub.body?.enqueue(new TextEncoder().encode(text));
  for (let second = 1; second <= 3600; second++) {
    for (let i = 0; i < 10; i++) {
      hub.seq++;
      send(`id: ${hub.seq}\ndata: ${hub.seq}\n\n`);
    }
    if (second % 60 === 59) send('event: hub:bye\ndata: {"reason":"lifetime","retry_ms":700}\n\n');
    if (second % 300 === 150 && !silent) {
      hub.body?.error(new Error("cut"));
      hub.body = undefined;
    }
    if (second % 600 === 400) silent = true;
    for (let i = 0; i < 4; i++) await new Promise(setImmediate);
    mock.timers.tick(1000);
  }
  for (let i = 0; i < 5; i++) {
    await settle();
    mock.timers.tick(1000);
  }
  await settle();
  assert.deepEqual(c.events.map((e) => +e.text()), Array.from({ length: 36_000 }, (_, i) => i + 1));
  assert.ok(count() > 60, `${count()} connections`);
  assert.equal(hub.gone, count() - 1, "all but the last were given back");
});
