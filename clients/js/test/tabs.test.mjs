// Tabs that share a connection, as subscriptions in one process with Web Locks of our own.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { share } from "../dist/tabs.js";
import { listen, started } from "./helpers.mjs";
import { Locks } from "./locks.mjs";

let locks;
beforeEach(() => {
  locks = new Locks();
  Object.defineProperty(globalThis, "navigator", { value: { locks }, configurable: true });
});
afterEach(() => {
  delete globalThis.navigator;
});

/** Opens n tabs, and waits until all of them know that the connection is open. */
async function open(t, hub, n, options) {
  const tabs = [];
  for (let i = 0; i < n; i++) {
    tabs.push(listen(t, `${hub.url}/events`, { share: true, ...options }));
    await tabs[i].has("open");
  }
  return tabs;
}

const texts = (tab) => tab.events.map((e) => e.text()).join();

test("eight tabs have one connection, and all of them every event", async (t) => {
  const hub = await started(t);
  const tabs = await open(t, hub, 8);
  for (let i = 1; i <= 20; i++) hub.publish({ topic: "a", type: "x", data: `${i}` });
  for (const tab of tabs) await tab.until(() => tab.events.length === 20);
  for (const tab of tabs) {
    assert.equal(texts(tab), texts(tabs[0]));
    const { topic, id, type } = tab.events[19];
    assert.deepEqual([topic, id, type], ["a", "1-20", "x"]);
  }
  assert.equal(hub.requests.length, 1);
});

for (const format of ["ndjson", "protobuf"]) {
  test(`events of ${format} reach the other tabs as they are`, async (t) => {
    const hub = await started(t);
    const tabs = await open(t, hub, 2, { format });
    hub.publish({ data: '{"a":[1,2]}' });
    hub.publish({ data: Buffer.from([0, 255]) });
    for (const tab of tabs) {
      await tab.until(() => tab.events.length === 2);
      assert.deepEqual(tab.events[0].json(), { a: [1, 2] });
      assert.deepEqual([...tab.events[1].bytes()], [0, 255]);
    }
  });
}

test("when the leader leaves, the next one continues without hole or duplicate", async (t) => {
  const hub = await started(t);
  const tabs = await open(t, hub, 4);
  for (let n = 1; tabs.length; n++) {
    for (const tab of tabs) await tab.has("open");
    hub.publish({ data: `${n}` });
    for (const tab of tabs) await tab.until(() => tab.events.length === 2 * n - 1);
    const gone = tabs.shift();
    gone.subscription.close();
    hub.publish({ data: "between" });
    for (const tab of tabs) await tab.until(() => tab.events.length === 2 * n);
    for (const tab of tabs) assert.deepEqual(tab.events.map((e) => e.id), Array.from({ length: 2 * n }, (_, i) => `1-${i + 1}`));
    for (const tab of tabs) assert.deepEqual(tab.gaps, []);
  }
  await hub.until((h) => h.subscribers === 0);
  assert.deepEqual(locks.names, []);
});

test("tabs that ask for something else have connections of their own", async (t) => {
  const hub = await started(t);
  const all = [{ topics: ["a"] }, { topics: ["b"] }, { format: "ndjson" }, { share: "anna" }, { share: "bert" }, { share: false }, { share: false }];
  for (const options of all) await open(t, hub, 1, options);
  assert.equal(hub.requests.length, all.length);
});

test("a gap is told to all", async (t) => {
  const hub = await started(t);
  const tabs = await open(t, hub, 3);
  hub.gap({ from: "1-0", to: "1-1", dropped: 3, reason: "slow" });
  for (const tab of tabs) await tab.until(() => tab.gaps.length === 1);
  for (const tab of tabs) assert.deepEqual(tab.gaps, [{ from: "1-0", to: "1-1", dropped: 3, reason: "slow" }]);
});

test("a refusal is for one tab: the next one tries with its own headers", async (t) => {
  const hub = await started(t);
  const tabs = [];
  for (const name of ["stale", "stale too", "good"]) tabs.push(...(await open(t, hub, 1, { headers: { Authorization: name } })));
  const [stale, too, good] = tabs;
  hub.publish({ data: "1" });
  for (const tab of tabs) await tab.until(() => tab.events.length === 1);
  hub.answers.push({ status: 401 }, { status: 403 });
  hub.cut();
  hub.publish({ data: "2" });
  for (const [tab, code] of [[stale, 401], [too, 403]]) {
    await tab.has("closed");
    assert.equal(tab.statuses.at(-1).code, code);
  }
  await good.until(() => good.events.length === 2);
  assert.deepEqual(hub.requests.map((r) => r.headers.authorization), ["stale", "stale", "stale too", "good"]);
  assert.deepEqual(good.gaps, []);
  assert.ok(!good.statuses.some((s) => s.state === "closed" || s.code), "nobody else's refusal");
  await good.has("open");
  hub.answers.push({ status: 404 });
  hub.cut();
  await good.has("closed");
  assert.deepEqual(locks.names, []);
  const [fresh] = await open(t, hub, 1);
  assert.equal(fresh.state(), "open", "a tab that comes later tries again");
});

test("a tab whose page already knows an event hears of the hole before the connection's position", async (t) => {
  const hub = await started(t);
  const [first] = await open(t, hub, 1);
  for (const data of ["a", "b"]) hub.publish({ data });
  await first.until(() => first.events.length === 2);
  const [second] = await open(t, hub, 1, { lastEventId: "1-1" });
  await second.until(() => second.gaps.length === 1);
  assert.deepEqual(second.gaps, [{ from: "1-1", to: "1-2", reason: "tabs" }]);
  const [third] = await open(t, hub, 1, { lastEventId: "1-2" });
  hub.publish({ data: "c" });
  for (const tab of [second, third]) await tab.until(() => tab.events.length === 1);
  assert.deepEqual(third.gaps, []);
});

/** A tab whose connection is the test's: say(kind, value) is what it hears. */
function tab(t, name, last = "") {
  const log = [], opened = [];
  let waiting = () => {};
  const add = (line) => {
    log.push(line);
    waiting();
  };
  const line = share(name, last, (from, sink) => {
    const connection = { from, sink, ended: false };
    opened.push(connection);
    sink.status({ state: "open" });
    waiting();
    return () => (connection.ended = true);
  }, {
    event: ([, id]) => add(id),
    gap: (g) => add(`gap ${g.from}>${g.to} ${g.reason}`),
    status: (s) => add(s.state),
  });
  t.after(() => line.close());
  return {
    log, opened, line,
    say: (id) => opened.at(-1).sink.event(["t", id, "", "x"]),
    async until(condition) {
      while (!condition()) await new Promise((done) => (waiting = done));
    },
  };
}

test("a leader that hangs is replaced, and listens when it is back", async (t) => {
  const [a, b] = [tab(t, "n"), tab(t, "n")];
  await a.until(() => a.opened.length === 1);
  a.say("1");
  await b.until(() => b.log.includes("1"));
  const freeze = BroadcastChannel.prototype.postMessage;
  t.after(() => (BroadcastChannel.prototype.postMessage = freeze));
  BroadcastChannel.prototype.postMessage = function (m) {
    if (m[0] !== 1 || b.opened.length) freeze.call(this, m); // the leader does not answer
  };
  await b.until(() => b.opened.length === 1);
  assert.equal(b.opened[0].from, "1");
  await a.until(() => a.opened[0].ended);
  b.say("2");
  await a.until(() => a.log.includes("2"));
  assert.deepEqual(a.log.filter((l) => l !== "open"), ["1", "2"]);
});

test("what two leaders have both sent arrives once", async (t) => {
  const [a, b, c] = [tab(t, "m"), tab(t, "m"), tab(t, "m")];
  await a.until(() => a.opened.length === 1);
  for (const id of ["1", "2", "3"]) a.say(id);
  await b.until(() => b.log.includes("3"));
  await c.until(() => c.log.includes("3"));
  a.line.close();
  await b.until(() => b.opened.length === 1);
  assert.equal(b.opened[0].from, "3");
  for (const id of ["2", "3", "4"]) b.say(id); // as if b had been behind
  await c.until(() => c.log.includes("4"));
  for (const x of [b, c]) assert.deepEqual(x.log.filter((l) => l !== "open"), ["1", "2", "3", "4"]);
});

test("an ID that is used again is another event, unless two leaders have sent it", async (t) => {
  const all = [tab(t, "r"), tab(t, "r"), tab(t, "r")];
  const want = [];
  const said = async (leader, ids, reason) => {
    if (reason) {
      leader.opened.at(-1).sink.gap({ from: "2", to: "1", reason });
      want.push(`gap 2>1 ${reason}`);
    }
    for (const id of ids) leader.say(id);
    want.push(...ids);
    for (const x of all) await x.until(() => x.log.filter((l) => l !== "open").length === want.length);
    for (const x of all) assert.deepEqual(x.log.filter((l) => l !== "open"), want);
  };
  await all[0].until(() => all[0].opened.length === 1);
  await said(all[0], ["1", "2"]);
  await said(all[0], ["1", "2", "3"], "unknown-id"); // of the same leader
  await said(all[0], ["1"]); // without a gap, as one connection would deliver it
  for (const reason of ["epoch", "unknown-id"]) {
    all.shift().line.close();
    await all[0].until(() => all[0].opened.length === 1);
    await said(all[0], ["1", "2", "3"], reason);
  }
});

test("a tab that has missed a message says so", async (t) => {
  const post = BroadcastChannel.prototype.postMessage;
  t.after(() => (BroadcastChannel.prototype.postMessage = post));
  const [a, b] = [tab(t, "h"), tab(t, "h")];
  await a.until(() => a.opened.length === 1);
  a.say("1");
  await b.until(() => b.log.includes("1"));
  BroadcastChannel.prototype.postMessage = () => {};
  a.say("2");
  BroadcastChannel.prototype.postMessage = post;
  a.say("3");
  a.say("4");
  await b.until(() => b.log.includes("4"));
  assert.deepEqual(b.log.filter((l) => l !== "open"), ["1", "gap 1>3 tabs", "3", "4"]);
});

test("a new leader that knows nothing is a gap for the others", async (t) => {
  const [a, b] = [tab(t, "k"), tab(t, "k")];
  await a.until(() => a.opened.length === 1);
  a.say("1");
  await b.until(() => b.log.includes("1"));
  a.line.pause();
  b.line.pause(); // so neither leads
  const stranger = new BroadcastChannel("k");
  t.after(() => stranger.close());
  const term = Date.now() + 60_000;
  stranger.postMessage([1, term, 0, "", { state: "open" }]);
  stranger.postMessage([2, term, 0, "", ["t", "9", "", "x"]]);
  stranger.postMessage([2, term - 1, 0, "", ["t", "8", "", "x"]]); // of an older term: not believed
  stranger.postMessage([2, term, 1, "9", ["t", "10", "", "x"]]);
  await b.until(() => b.log.includes("10"));
  assert.deepEqual(b.log.filter((l) => l !== "open"), ["1", "gap 1> tabs", "9", "10"]);
});

test("a page that is paused does not lead, and misses nothing", async (t) => {
  const [a, b] = [tab(t, "p"), tab(t, "p")];
  await a.until(() => a.opened.length === 1);
  a.say("1");
  await b.until(() => b.log.includes("1"));
  a.line.pause();
  assert.ok(a.opened[0].ended);
  await b.until(() => b.opened.length === 1);
  b.say("2");
  await a.until(() => a.log.includes("2"));
  a.line.resume();
  a.line.resume();
  b.line.close();
  await a.until(() => a.opened.length === 2);
  assert.equal(a.opened[1].from, "2");
  assert.deepEqual(a.log.filter((l) => l !== "open"), ["1", "2"]);
});

test("a leader that does not attempt in time, as its timers are slow, is replaced", async (t) => {
  const [a, b] = [tab(t, "w"), tab(t, "w")];
  await a.until(() => a.opened.length === 1);
  a.say("1");
  await b.until(() => b.log.includes("1"));
  a.opened[0].sink.status({ state: "waiting", delay: 50, reason: "lost" });
  await b.until(() => b.opened.length === 1);
  assert.equal(b.opened[0].from, "1");
  await a.until(() => a.opened[0].ended);
});

test("a tab that is closed by its own callback leaves no connection", async (t) => {
  const connections = [];
  let line;
  const open = (from, sink) => {
    connections.push("open");
    sink.status({ state: "connecting" });
    return () => connections.push("ended");
  };
  await new Promise((done) => {
    line = share("c", "", open, { event() {}, gap() {}, status() { line.close(); setImmediate(done); } });
  });
  assert.deepEqual(connections, ["open", "ended"]);
  assert.deepEqual(locks.names, []);
});
