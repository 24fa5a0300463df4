// Subscriptions against a hub that fails in every way, over the fetch of Node.

import assert from "node:assert/strict";
import { test } from "node:test";
import { subscribe } from "../dist/index.js";
import { listen, started } from "./helpers.mjs";

for (const format of ["sse", "ndjson", "protobuf"]) {
  test(`${format}: events, and what was missed while the server was away`, async (t) => {
    const hub = await started(t);
    hub.dribble = true;
    const c = listen(t, `${hub.url}/events`, { format, topics: ["prices/*", "chat"], headers: { Authorization: "Bearer x" } });
    await hub.until((h) => h.subscribers === 1);
    hub.publish({ topic: "prices/A", type: "price", data: '{"p":1}' });
    hub.publish({ topic: "other", data: "no" });
    hub.publish({ topic: "chat", data: "hello" });
    await c.until(() => c.events.length === 2);
    assert.deepEqual(c.events.map((e) => [e.topic, e.id, e.type, e.text()]), [
      ["prices/A", "1-1", "price", '{"p":1}'],
      ["chat", "1-3", "", "hello"],
    ]);
    const [{ url, headers }] = hub.requests;
    assert.equal(url.search, "?topic=prices%2F*&topic=chat");
    assert.equal(headers.authorization, "Bearer x");
    assert.equal(headers["last-event-id"], undefined);

    await hub.kill();
    await c.until(() => c.state() !== "open");
    hub.publish({ topic: "chat", data: "while away" });
    await hub.listen();
    await c.until(() => c.events.length === 3);
    hub.publish({ topic: "chat", data: "again" });
    await c.until(() => c.events.length === 4);
    assert.deepEqual(c.events.slice(2).map((e) => e.text()), ["while away", "again"]);
    assert.equal(hub.requests.at(-1).headers["last-event-id"], "1-3");
    assert.deepEqual(c.gaps, []);
    assert.equal(c.subscription.lastEventId, "1-5");
  });

  test(`${format}: an event that was cut is delivered whole`, async (t) => {
    const hub = await started(t);
    const c = listen(t, `${hub.url}/events`, { format });
    await hub.until((h) => h.subscribers === 1);
    hub.publish({ data: "a" });
    await c.until(() => c.events.length === 1);
    hub.cut({ data: "b".repeat(100) });
    await hub.until((h) => h.requests.length === 2 && h.subscribers === 1);
    hub.publish({ data: "b" });
    await c.until(() => c.events.length === 2);
    assert.deepEqual(c.events.map((e) => e.text()), ["a", "b"]);
  });

  test(`${format}: a gap comes before the event after it`, async (t) => {
    const hub = await started(t);
    const c = listen(t, `${hub.url}/events`, { format });
    await hub.until((h) => h.subscribers === 1);
    hub.publish({ data: "a" });
    await c.until(() => c.events.length === 1);
    await hub.kill({ forget: true });
    hub.publish({ data: "new" });
    await hub.listen();
    await c.until(() => c.events.length === 2);
    assert.deepEqual(c.log.filter((l) => !["open", "waiting", "connecting"].includes(l)), ["a", "gap epoch", "new"]);
    assert.deepEqual(c.gaps.map(({ from, to, reason }) => [from, to, reason]), [["1-1", "2-1", "epoch"]]);
  });

  test(`${format}: who comes and goes are events that move nothing`, async (t) => {
    const hub = await started(t);
    const c = listen(t, `${hub.url}/events?presence=1`, { format });
    await hub.until((h) => h.subscribers === 1);
    assert.equal(hub.requests[0].url.search, "?presence=1");
    hub.publish({ data: "a" });
    hub.tell("join", { users: ["ann"], here: 1 });
    hub.tell("leave", { users: ["ann"], here: 0 });
    await c.until(() => c.events.length === 3);
    assert.deepEqual(c.events.slice(1).map((e) => [e.id, e.type, e.json().here]), [["", "hub:join", 1], ["", "hub:leave", 0]]);
    assert.equal(c.subscription.lastEventId, "1-1");
  });

  test(`${format}: bye says when to come back`, async (t) => {
    const hub = await started(t);
    const c = listen(t, `${hub.url}/events`, { format });
    await hub.until((h) => h.subscribers === 1);
    hub.publish({ data: "owed" });
    hub.bye("shutdown", 3);
    await c.until(() => c.statuses.some((s) => s.state === "waiting"));
    const { reason, delay } = c.statuses.find((s) => s.state === "waiting");
    assert.equal(reason, "shutdown");
    assert.ok(delay >= 3, `${delay}`);
    assert.deepEqual(c.events.map((e) => e.text()), ["owed"]);
    await c.has("open");
    assert.equal(hub.requests.length, 2);
  });
}

test("the answer decides whether there is another attempt", async (t) => {
  for (const [status, headers, ends] of [
    [204, {}, true], [400, {}, true], [401, {}, true], [403, {}, true], [404, {}, true], [406, {}, true],
    [408, {}, false], [425, {}, false], [429, {}, false], [500, {}, false], [502, {}, false], [503, {}, false],
    [200, { "Content-Type": "text/html" }, false], [200, {}, false],
  ]) {
    const hub = await started(t);
    hub.answers.push({ status, headers, body: status === 204 ? undefined : "no" });
    const c = listen(t, `${hub.url}/events`);
    await c.until(() => ["open", "closed"].includes(c.state()));
    assert.equal(c.state(), ends ? "closed" : "open", `${status}`);
    assert.equal(hub.requests.length, ends ? 1 : 2, `${status}`);
    const failed = c.statuses.find((s) => s.reason);
    assert.match(failed.reason, status === 200 ? /^the server has sent .* instead of text\/event-stream: check the URL$/ : new RegExp(`answered ${status}`));
    assert.equal(failed.code, status === 200 ? undefined : status);
  }
});

test("a 401 asks the function of the headers again", async (t) => {
  const hub = await started(t);
  hub.answers.push({ status: 401 }, { status: 401 });
  let token = 0;
  const c = listen(t, `${hub.url}/events`, { headers: async () => ({ Authorization: `Bearer ${++token}` }) });
  await c.has("open");
  assert.deepEqual(hub.requests.map((r) => r.headers.authorization), ["Bearer 1", "Bearer 2", "Bearer 3"]);
});

test("headers that cannot be made are an attempt that failed", async (t) => {
  const hub = await started(t);
  let n = 0;
  const c = listen(t, `${hub.url}/events`, { headers: () => (n++ ? {} : Promise.reject(new Error("no token"))) });
  await c.has("open");
  assert.equal(c.statuses.find((s) => s.state === "waiting").reason, "no token");
});

test("Retry-After is the least pause", async (t) => {
  const hub = await started(t);
  hub.answers.push({ status: 503, headers: { "Retry-After": "1" } }, { status: 429, headers: { "Retry-After": new Date(Date.now() + 2500).toUTCString() } });
  const c = listen(t, `${hub.url}/events`);
  await c.has("open");
  const pauses = c.statuses.filter((s) => s.state === "waiting").map((s) => s.delay);
  assert.equal(pauses.length, 2);
  assert.ok(pauses[0] >= 1000 && pauses[0] <= 1001, `${pauses}`);
  assert.ok(pauses[1] <= 2502, `${pauses}`);
});

test("the watchdog gives up a connection that is silent", async (t) => {
  const hub = await started(t, { heartbeat: 20 });
  const c = listen(t, `${hub.url}/events`, { heartbeat: 400 });
  await hub.until((h) => h.subscribers === 1);
  hub.publish({ data: "a" });
  await c.until(() => c.events.length === 1);
  hub.mute();
  await c.has("waiting");
  assert.equal(c.statuses.at(-1).reason, "nothing received for 400 ms");
  await c.has("open");
  hub.publish({ data: "b" });
  await c.until(() => c.events.length === 2);
});

test("the watchdog gives up a server that does not answer", async (t) => {
  const hub = await started(t, { heartbeat: 20 });
  hub.answers.push("stall");
  const c = listen(t, `${hub.url}/events`, { heartbeat: 200 });
  await c.has("open");
  assert.equal(c.statuses.find((s) => s.state === "waiting").reason, "nothing received for 200 ms");
  assert.ok(hub.requests.length >= 2, `${hub.requests.length}`); // the answer to a second one may be late too
});

test("an ID that no field can hold is sent in the query", async (t) => {
  const hub = await started(t);
  for (const id of ["Zürich 😀", "a b", "line\nbreak"]) {
    hub.publish({ id, data: "before" });
    hub.publish({ data: "after" });
    const c = listen(t, `${hub.url}/events`, { lastEventId: id });
    await c.until(() => c.events.length === 1);
    assert.equal(c.events[0].text(), "after");
    assert.deepEqual(c.gaps, []);
    c.subscription.close();
    hub.history = [];
  }
});

test("a position without an event is continued after", async (t) => {
  const hub = await started(t);
  hub.publish({ data: "old" });
  const c = listen(t, `${hub.url}/events`);
  await hub.until((h) => h.subscribers === 1);
  hub.raw('event: hub:later\ndata: {"of":"a later version"}\n\nid: 1-1\n\nevent: hub:bye\ndata: {"reason":"lifetime","retry_ms":0}\n\n');
  await hub.until((h) => h.requests.length === 2);
  assert.equal(hub.requests[1].headers["last-event-id"], "1-1");
  assert.equal(c.subscription.lastEventId, "1-1");
  assert.deepEqual(c.events, []);
});

test("protobuf: the start is a position, and no event", async (t) => {
  const hub = await started(t);
  const c = listen(t, `${hub.url}/events`, { format: "protobuf" });
  await hub.until((h) => h.subscribers === 1);
  // As package push/format writes it: id, type, and Start.
  const start = Buffer.from("\x12\x031-0\x1a\x09hub:start\x3a\x03\x08\xe8\x07", "latin1");
  hub.raw(Buffer.concat([Buffer.from([start.length]), start]));
  hub.publish({ data: "a" });
  await c.until(() => c.events.length > 0);
  assert.deepEqual(c.events.map((e) => e.text()), ["a"]);
  hub.raw(Buffer.concat([Buffer.from([start.length]), start]));
  hub.bye("lifetime", 0);
  await hub.until((h) => h.requests.length === 2);
  assert.equal(hub.requests[1].headers["last-event-id"], "1-0");
});

test("nothing is called after close, even amid a piece of the stream", async (t) => {
  const hub = await started(t);
  const c = listen(t, `${hub.url}/events`, { onEvent: () => c.subscription.close() });
  await hub.until((h) => h.subscribers === 1);
  hub.raw("data: a\n\ndata: b\n\n");
  await hub.until((h) => h.subscribers === 0);
  assert.deepEqual(c.events.map((e) => e.text()), ["a"]);
  assert.equal(c.state(), "closed");
  c.subscription.close();
});

test("a callback that throws is reported and harms nothing", async (t) => {
  const hub = await started(t);
  const thrown = [];
  const listeners = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", (e) => thrown.push(e.message));
  t.after(() => {
    process.removeAllListeners("uncaughtException");
    for (const l of listeners) process.on("uncaughtException", l);
  });
  const c = listen(t, `${hub.url}/events`, { onEvent: (e) => { throw new Error(`no ${e.text()}`); } });
  await hub.until((h) => h.subscribers === 1);
  hub.publish({ data: "a" });
  hub.publish({ data: "b" });
  await c.until(() => c.events.length === 2);
  await new Promise(setImmediate);
  assert.deepEqual(thrown, ["no a", "no b"]);
  assert.equal(c.state(), "open");
});

test("an event that is too long ends the subscription and says what to do", async (t) => {
  const hub = await started(t);
  const c = listen(t, `${hub.url}/events`, { maxBytes: 1000 });
  await hub.until((h) => h.subscribers === 1);
  hub.publish({ data: "x".repeat(5000) });
  await c.has("closed");
  assert.equal(c.statuses.at(-1).reason, "an event is longer than 1000 bytes: raise maxBytes");
});

test("an event of 10 MB", async (t) => {
  const hub = await started(t);
  const c = listen(t, `${hub.url}/events`);
  await hub.until((h) => h.subscribers === 1);
  hub.publish({ data: "x".repeat(10_000_000) });
  await c.until(() => c.events.length === 1);
  assert.equal(c.events[0].text().length, 10_000_000);
});

test("a URL that is none is refused at once", () => {
  assert.throws(() => subscribe("/events"), /Invalid URL/);
});
