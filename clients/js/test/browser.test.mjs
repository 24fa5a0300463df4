// The client in Chromium, against a hub that fails and a browser that freezes, loses its network and closes tabs.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { counts, happens, has, lifecycle, start, wait } from "./browser.mjs";
import { started } from "./helpers.mjs";

let session;
before(async () => {
  session = await start();
});
after(() => session?.stop());

/** A hub with the page; say() publishes the next numbers. */
async function served(t, options) {
  const hub = await started(t, options);
  session.serve(hub);
  let n = 0;
  return { hub, say: (count = 1) => { for (let i = 0; i < count; i++) hub.publish({ data: `${++n}` }); return n; } };
}

const nothingWrong = { holes: 0, twice: 0, gaps: [] };
const state = (page, name) => wait(page, (name) => window.subscription.status.state === name, name);

for (const format of ["sse", "ndjson", "protobuf"]) {
  test(`${format}: the server is killed and comes back`, async (t) => {
    const { hub, say } = await served(t);
    const [page] = await session.tabs(t, hub, 1, { format });
    await has(page, say(10));
    for (let i = 0; i < 3; i++) {
      await hub.kill();
      await state(page, "waiting");
      say(10);
      await hub.listen();
      await has(page, say(10));
    }
    assert.deepEqual(await counts(page), { events: 70, ...nothingWrong });
  });
}

test("another server comes back: a gap is announced", async (t) => {
  const { hub, say } = await served(t);
  const [page] = await session.tabs(t, hub, 1);
  await has(page, say(10));
  await hub.kill({ forget: true });
  const n = say(1);
  await hub.listen();
  await has(page, n);
  assert.deepEqual((await counts(page)).gaps, [{ from: "1-10", to: "2-1", reason: "epoch" }]);
});

test("a frozen page catches up when it is thawed", async (t) => {
  const { hub, say } = await served(t);
  const [page] = await session.tabs(t, hub, 1);
  await has(page, say(10));
  await lifecycle(page, "frozen");
  await hub.until((h) => h.subscribers === 0);
  const n = say(1000);
  await lifecycle(page, "active");
  await has(page, n);
  assert.deepEqual(await counts(page), { events: 1010, ...nothingWrong });
});

test("a page whose network is away catches up when it is back", async (t) => {
  const { hub, say } = await served(t, { heartbeat: 100 });
  const [page] = await session.tabs(t, hub, 1, { heartbeat: 1000 });
  await has(page, say(10));
  const cdp = await page.context().newCDPSession(page);
  const offline = (offline) => cdp.send("Network.emulateNetworkConditions", { offline, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
  await cdp.send("Network.enable");
  await offline(true);
  await wait(page, () => !navigator.onLine);
  hub.cut();
  await state(page, "waiting");
  const n = say(100);
  await offline(false);
  await has(page, n);
  assert.deepEqual(await counts(page), { events: 110, ...nothingWrong });
});

test("behind a dead router the watchdog finds another way", async (t) => {
  const { hub, say } = await served(t, { heartbeat: 100 });
  const [page] = await session.tabs(t, hub, 1, { heartbeat: 1000 });
  await has(page, say(10));
  const before = hub.requests.length;
  hub.mute();
  say(10);
  await hub.until((h) => h.requests.length > before);
  await has(page, say(10));
  assert.deepEqual(await counts(page), { events: 30, ...nothingWrong });
});

test("a slow network delays events, and loses none", async (t) => {
  const { hub, say } = await served(t, { heartbeat: 500 });
  const [page] = await session.tabs(t, hub, 1, { heartbeat: 3000 });
  await has(page, say(1)); // a position to continue from
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Network.enable");
  await cdp.send("Network.emulateNetworkConditions", { offline: false, latency: 300, downloadThroughput: 20_000, uploadThroughput: 20_000 });
  const before = hub.requests.length;
  hub.cut(); // the conditions hold for new requests
  await hub.until((h) => h.requests.length > before && h.subscribers === 1);
  await has(page, say(1000));
  assert.deepEqual(await counts(page), { events: 1001, ...nothingWrong });
});

for (const transport of ["eventsource", undefined]) {
  test(`without fetch streaming an EventSource does it (${transport ?? "found out"})`, async (t) => {
    const { hub, say } = await served(t);
    const [page] = await session.tabs(t, hub, 1);
    await page.evaluate(() => {
      window.subscription.close();
      delete Response.prototype.body;
    });
    await page.evaluate((o) => window.start(o), { transport, types: ["price"], topics: ["news"] });
    await state(page, "open");
    await has(page, say(10));
    await hub.kill();
    say(5);
    await hub.listen();
    await has(page, say(5));
    hub.publish({ type: "price", data: "21" });
    await has(page, 21);
    assert.deepEqual(await counts(page), { events: 21, ...nothingWrong });
    assert.equal(hub.requests.at(-1).url.searchParams.get("last_event_id"), "1-10");
    assert.deepEqual((await page.evaluate(() => window.types)).slice(0, 2), ["", ""]);
    await hub.kill({ forget: true });
    hub.publish({ data: "22" });
    await hub.listen();
    await has(page, 22);
    assert.deepEqual((await counts(page)).gaps.map((g) => g.reason), ["epoch"]);
    await page.evaluate(() => window.subscription.close());
    await hub.until((h) => h.subscribers === 0);
  });
}

test("an EventSource that is turned away before an ID comes continues where it was", async (t) => {
  const { hub, say } = await served(t);
  const [page] = await session.tabs(t, hub, 1, { transport: "eventsource" });
  await has(page, say(10));
  for (const reason of ["limit", "broker", "shutdown"]) hub.answers.push({ reason });
  const before = hub.requests.length;
  hub.cut();
  await hub.until((h) => h.requests.length === before + 1);
  const n = say(5);
  await has(page, n);
  assert.deepEqual(hub.requests.slice(before).map((r) => r.url.searchParams.get("last_event_id")), ["1-10", "1-10", "1-10", "1-10"]);
  hub.bye("lifetime", 0); // of a connection that has brought IDs
  await hub.until((h) => h.requests.length === before + 5 && h.subscribers === 1);
  hub.bye("lifetime", 0); // and of one that has brought none
  await hub.until((h) => h.requests.length === before + 6);
  assert.deepEqual(hub.requests.slice(before + 4).map((r) => r.url.searchParams.get("last_event_id")), ["1-15", "1-15"]);
  await has(page, say(5));
  assert.deepEqual(await counts(page), { events: 20, ...nothingWrong });
});

test("an EventSource whose ID the server takes back begins anew", async (t) => {
  const { hub, say } = await served(t);
  const [page] = await session.tabs(t, hub, 1, { transport: "eventsource" });
  await has(page, say(10));
  hub.raw("id\ndata: 11\n\n");
  await has(page, 11);
  assert.equal(await page.evaluate(() => window.subscription.lastEventId), "");
  const before = hub.requests.length;
  hub.cut();
  await hub.until((h) => h.requests.length > before);
  assert.equal(hub.requests.at(-1).url.searchParams.get("last_event_id"), null);
});

test("eight tabs have one connection, whichever of them leaves, freezes or crashes", async (t) => {
  const { hub, say } = await served(t);
  const tabs = await session.tabs(t, hub, 8, { share: true });
  const all = async (n) => {
    for (const page of tabs) await has(page, n);
  };
  await all(say(100));
  await hub.until((h) => h.subscribers === 1);

  await tabs.shift().close(); // the leader, as the first of all
  await all(say(100));

  const frozen = tabs.shift();
  await lifecycle(frozen, "frozen");
  await all(say(100));
  await lifecycle(frozen, "active");
  await has(frozen, 300);
  tabs.push(frozen);

  const crashed = tabs.shift();
  const crash = happens(crashed, "crash");
  crashed.goto("chrome://crash").catch(() => {});
  await crash;
  await all(say(100));

  await hub.kill();
  say(100);
  await hub.listen();
  await all(say(100));
  for (const page of tabs) assert.deepEqual(await counts(page), { events: 600, ...nothingWrong });
  await hub.until((h) => h.subscribers === 1);
});

test("a leader that is refused closes, and the next tab goes on", async (t) => {
  const { hub, say } = await served(t);
  const [leader, ...tabs] = await session.tabs(t, hub, 3, { share: true });
  for (const page of [leader, ...tabs]) await has(page, say(10));
  hub.answers.push({ status: 401 });
  const before = hub.requests.length;
  hub.cut();
  const n = say(10);
  await state(leader, "closed");
  assert.equal((await leader.evaluate(() => window.subscription.status)).code, 401);
  for (const page of tabs) {
    await has(page, n);
    await state(page, "open");
    assert.deepEqual((({ holes, twice, gaps }) => ({ holes, twice, gaps }))(await counts(page)), nothingWrong);
  }
  await hub.until((h) => h.requests.length > before + 1 && h.subscribers === 1);
});

test("a leader that hangs is replaced", async (t) => {
  const { hub, say } = await served(t);
  const [leader, ...tabs] = await session.tabs(t, hub, 3, { share: true });
  for (const page of [leader, ...tabs]) await has(page, say(10));
  const cdp = await leader.context().newCDPSession(leader);
  await cdp.send("Debugger.enable");
  const before = hub.requests.length;
  await cdp.send("Debugger.pause"); // at the next line that runs: unlike a freeze, the page is not warned
  await hub.until((h) => h.requests.length > before);
  const n = say(10);
  for (const page of tabs) await has(page, n);
  await cdp.send("Debugger.resume");
  await cdp.send("Debugger.disable");
  await has(leader, say(10));
  for (const page of [leader, ...tabs]) assert.deepEqual((({ holes, twice, gaps }) => ({ holes, twice, gaps }))(await counts(page)), nothingWrong);
  await hub.until((h) => h.subscribers === 1);
});

test("an hour's events in seconds: the heap does not grow, nothing is lost", async (t) => {
  const { hub, say } = await served(t, { heartbeat: 50 });
  const tabs = await session.tabs(t, hub, 3, { share: true, heartbeat: 2000, maxRetry: 100 });
  const heaps = [];
  let n = say();
  for (const page of tabs) await has(page, n);
  hub.lifetime = 300; // of the next ones: the tabs would not call the first one open, which had brought nothing before the bye
  hub.cut();
  const heap = async () => {
    await hub.until((h) => h.subscribers === 1);
    for (const page of tabs) await has(page, n);
    const cdp = await tabs[0].context().newCDPSession(tabs[0]);
    for (let i = 0; i < 2; i++) await cdp.send("HeapProfiler.collectGarbage");
    heaps.push((await cdp.send("Runtime.getHeapUsage")).usedSize);
    await cdp.detach();
  };
  for (let minute = 0; minute < 60; minute++) {
    for (let i = 0; i < 10; i++) {
      n = say(60);
      await new Promise((done) => setTimeout(done, 2)); // several writes, not one
    }
    if (minute % 10 === 4) hub.cut({ data: "cut" });
    if (minute % 20 === 9) {
      await hub.kill();
      say(30);
      await hub.listen();
    }
    if (minute % 10 === 9) await heap();
  }
  await hub.until((h) => h.requests.length > 10); // its lifetime ends a connection, however fast the hour passed
  n = say();
  for (const page of tabs) await has(page, n);
  assert.ok(n > 36_000, `${n} events`);
  for (const page of tabs) assert.deepEqual(await counts(page), { events: n, ...nothingWrong });
  t.diagnostic(`${n} events, ${hub.requests.length} connections, heap ${heaps.map((b) => (b / 1e6).toFixed(2)).join(" ")} MB`);
  assert.ok(Math.min(...heaps.slice(-2)) < Math.max(...heaps.slice(0, 3)) + 1e6, `the heap grows: ${heaps}`);
});
