// What servers other than the hub may send: the cases of web-platform-tests, eventsource, and types that the hub has too.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { test } from "node:test";
import { formats } from "../dist/decode.js";
import { subscribe } from "../dist/index.js";
import { listen, started } from "./helpers.mjs";
import { cases } from "./wpt-cases.mjs";

/** Streams an answer cut into pieces, and returns the events, and what the next attempt asks to continue after. */
function heard(text, { mime = "text/event-stream", cut = 0, transport } = {}) {
  return new Promise((done) => {
    const bytes = new TextEncoder().encode(text);
    const events = [];
    let calls = 0;
    const subscription = subscribe("http://hub.example/events", {
      retry: 1, maxRetry: 2, transport,
      onEvent: (e) => events.push([e.type, e.text()]),
      onStatus: ({ state, reason }) => state === "closed" && done({ events, closed: reason }),
      async fetch(_, { headers }) {
        if (++calls > 1) {
          const field = headers.get("Last-Event-ID");
          const last = field && Buffer.from(field, "latin1").toString();
          queueMicrotask(() => (subscription.close(), done({ events, last, id: subscription.lastEventId })));
          return new Response(null, { status: 503 });
        }
        const body = new ReadableStream({
          start(c) {
            for (let i = 0; i < bytes.length; i += cut || bytes.length) c.enqueue(bytes.slice(i, i + (cut || bytes.length)));
            c.close();
          },
        });
        return new Response(body, { headers: { "Content-Type": mime } });
      },
    });
  });
}

const hubTypes = [
  { name: "hub:gap", text: "event: hub:gap\ndata: hello\n\ndata:after\n\n", events: [["hub:gap", "hello"], ["", "after"]] },
  { name: "hub:bye", text: "event: hub:bye\nid: 3\ndata: null\n\nevent: hub:bye\ndata: 7\n\ndata:after\n\n", events: [["hub:bye", "null"], ["hub:bye", "7"], ["", "after"]], last: "3" },
  { name: "hub:x", text: "event: hub:x\ndata: hello\n\ndata:after\n\n", events: [["hub:x", "hello"], ["", "after"]] },
];
for (const { name, text, events, last, retry } of [...cases, ...hubTypes]) {
  for (const cut of [0, 1]) {
    test(`${name}: ${JSON.stringify(text.slice(0, 40))}${cut ? ", byte by byte" : ""}`, async () => {
      const got = await heard(text, { cut: text.length > 100_000 ? cut * 1000 : cut });
      assert.deepEqual(got.events, events);
      if (last !== undefined) assert.deepEqual([got.last, got.id], [last, last ?? ""]);
      if (!retry) return;
      const said = [];
      formats.sse[1](1 << 20, { event() {}, retry: (ms) => said.push(ms) })(Buffer.from(text));
      assert.deepEqual(said, retry);
    });
  }
}

for (const [mime, good] of [
  ["text/event-stream;", true], ["text/event-stream;charset=windows-1252", true], ["TEXT/Event-Stream", true], ["Text/Event-Stream ; charset=UTF-8", true],
  ["text/event-stream-x", false], ["text/x-bogus", false], ["text/event-streamtext/html", false],
]) {
  test(`format-mime: ${mime}`, async () => {
    const { events } = await heard("data:1\n\n", { mime });
    assert.deepEqual(events, good ? [["", "1"]] : []);
  });
}

/** Subscribes to a server of the test: serve(request, response, n) answers request n. */
async function against(t, serve, options) {
  let n = 0;
  const requests = [];
  const server = createServer((q, w) => {
    requests.push(q);
    serve(q, w, n++);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => (server.closeAllConnections(), server.close()));
  const url = `http://127.0.0.1:${server.address().port}/`;
  return { url, requests, c: listen(t, url, options) };
}

const say = (w, text) => w.writeHead(200, { "Content-Type": "text/event-stream" }).write(text);

test("eventsource-onopen, -onmessage, -close: a stream opens, brings an event, and nothing after close", async (t) => {
  const hub = await started(t);
  const c = listen(t, `${hub.url}/events`, { onEvent: () => c.subscription.close() });
  await hub.until((h) => h.subscribers === 1);
  hub.raw("data:1\n\ndata:2\n\n");
  await hub.until((h) => h.subscribers === 0);
  assert.deepEqual(c.log, ["open", "1"]);
  assert.equal(c.state(), "closed");
});

test("eventsource-reconnect: a stream that ends is continued after its ID, until the server says that there is none", async (t) => {
  const { c, requests } = await against(t, (q, w, n) => {
    if (n > 1) return w.writeHead(204).end();
    say(w, `id:${n}\ndata:${n}\n\n`);
    w.end();
  });
  await c.has("closed");
  assert.deepEqual(c.events.map((e) => e.text()), ["0", "1"]);
  assert.deepEqual(requests.map((q) => q.headers["last-event-id"]), [undefined, "0", "1"]);
});

test("eventsource-cross-origin-preflight: any ID of a stream is sent as it came, in UTF-8", async (t) => {
  const ids = ["safe", "l".repeat(2000), "un\"safe: {}", "\u00e9 \u2026 \u{1F600}"];
  const { c, requests } = await against(t, (q, w, n) => {
    if (n === ids.length) return w.writeHead(204).end();
    say(w, `id:${ids[n]}\ndata:${n}\n\n`);
    w.end();
  });
  await c.has("closed");
  assert.deepEqual(requests.slice(1).map((q) => Buffer.from(q.headers["last-event-id"], "latin1").toString()), ids);
  assert.deepEqual(requests.map((q) => q.url), ids.concat("").map(() => "/"));
});

for (const status of [301, 302, 303, 307, 308]) {
  test(`request-redirect: ${status} is followed`, async (t) => {
    const { c, requests } = await against(t, (q, w) => (q.url === "/" ? w.writeHead(status, { Location: "/there" }).end() : say(w, "data:1\n\n")));
    await c.until(() => c.events.length === 1);
    assert.deepEqual(requests.map((q) => [q.method, q.url]), [["GET", "/"], ["GET", "/there"]]);
  });
}

// An EventSource ends on all of them. Of what may pass the client comes again, see the README.
for (const [status, ends] of [[204, true], [205, false], [210, false], [299, false], [404, true], [410, true], [503, false]]) {
  test(`request-status-error: ${status} ${ends ? "ends" : "is tried again, and brings no event"}`, async (t) => {
    const { c, requests } = await against(t, (q, w, n) => {
      if (n) return w.writeHead(204).end();
      w.writeHead(status, { "Content-Type": "text/event-stream" });
      w.end(status === 204 || status === 205 ? undefined : "data:no\n\n");
    });
    await c.has("closed");
    assert.deepEqual(c.events, []);
    assert.equal(requests.length, ends ? 1 : 2);
  });
}

test("request-accept, -cache-control, -credentials: what is asked", async () => {
  for (const [credentials, want] of [[undefined, "same-origin"], ["include", "include"]]) {
    const [url, init] = await new Promise((asked) => {
      const subscription = subscribe("http://hub.example/events?x=1#part", { credentials, fetch: async (...request) => (queueMicrotask(() => subscription.close()), asked(request), new Response()) });
    });
    assert.equal(init.headers.get("Accept"), "text/event-stream");
    assert.deepEqual([...init.headers.keys()], ["accept"]);
    assert.deepEqual([init.cache, init.credentials, init.method], ["no-store", want, undefined]);
    assert.equal(`${url}`, "http://hub.example/events?x=1#part");
  }
});

test("eventsource-constructor-url-bogus, -constructor-stringify, -constructor-empty-url: what a URL may be", (t) => {
  globalThis.location = { href: "http://hub.example/page" };
  t.after(() => delete globalThis.location);
  const asked = (url) => {
    let to;
    subscribe(url, { headers: {}, fetch: (u) => ((to = `${u}`), new Promise(() => {})) }).close();
    return to;
  };
  assert.throws(() => subscribe("http://this is invalid/"), TypeError); // an EventSource throws a SyntaxError
  for (const url of ["", "x", { toString: () => "x" }, null]) assert.doesNotThrow(() => asked(url));
});

// What there is no test for here, and why.
const elsewhere = {
  "eventsource-bfcache": "browser.test.mjs: a frozen page; and index.ts listens to pagehide and pageshow",
  "eventsource-constructor-document-domain": "of pages that set document.domain; the client asks as fetch does",
  "eventsource-constructor-non-same-origin": "wpt-browser.test.mjs: a server of another origin that allows nothing; it is tried again, for fetch does not say why it failed",
  "eventsource-constructor-url-multi-window": "of constructors of other windows; the client has none",
  "eventsource-cross-origin": "wpt-browser.test.mjs",
  "eventsource-eventtarget": "a subscription is no EventTarget: it calls onEvent, onGap and onStatus",
  "eventsource-from-readable-stream": "of a constructor that was proposed",
  "eventsource-from-readable-stream-fetch": "of a constructor that was proposed",
  "eventsource-onmessage-realm": "events are PushEvent, no MessageEvent",
  "eventsource-onmessage-trusted": "events are PushEvent, no MessageEvent",
  "eventsource-prototype": "a subscription is no EventSource",
  "eventsource-readyState": "the states are those of Status",
  "eventsource-request-cancellation": "wpt-browser.test.mjs: a frame that is removed",
  "eventsource-url": "a subscription has no url",
  interfaces: "a subscription is no EventSource",
  "dedicated-worker": "wpt-browser.test.mjs",
  "shared-worker": "wpt-browser.test.mjs",
};
const names = `event-data eventsource-bfcache eventsource-close eventsource-constructor-document-domain eventsource-constructor-empty-url
  eventsource-constructor-non-same-origin eventsource-constructor-stringify eventsource-constructor-url-bogus eventsource-constructor-url-multi-window
  eventsource-cross-origin eventsource-cross-origin-preflight eventsource-eventtarget eventsource-from-readable-stream
  eventsource-from-readable-stream-fetch eventsource-onmessage eventsource-onmessage-realm eventsource-onmessage-trusted eventsource-onopen
  eventsource-prototype eventsource-readyState eventsource-reconnect eventsource-request-cancellation eventsource-url format-bom format-bom-2
  format-comments format-data-before-final-empty-line format-field-data format-field-event format-field-event-empty format-field-id
  format-field-id-2 format-field-id-3 format-field-id-null format-field-parsing format-field-retry format-field-retry-bogus
  format-field-retry-empty format-field-unknown format-leading-space format-mime-bogus format-mime-trailing-semicolon
  format-mime-valid-bogus format-newlines format-null-character format-utf-8 interfaces request-accept request-cache-control
  request-credentials request-redirect request-status-error dedicated-worker shared-worker`.split(/\s+/);

test("every case of web-platform-tests, eventsource, is here or has a reason", () => {
  // Titles name several cases: "eventsource-onopen, -close: …".
  const titles = (file) => readFileSync(new URL(file, import.meta.url), "utf8").split("\n").filter((l) => /^\s*test\(/.test(l));
  const named = (file, name) => {
    const [, prefix = "", rest] = /^(eventsource|request)?(.*)$/.exec(name);
    return titles(file).some((l) => l.includes(prefix) && new RegExp(`(${prefix}| )${rest}(?![\\w-])`).test(l.replace("${kind}", name.split("-")[0])));
  };
  for (const name of names) {
    const group = name.replace(/^(format-mime)-.*/, "$1"); // whose cases are rows
    const here = cases.some((c) => c.name === name) || named("wpt.test.mjs", group);
    const why = elsewhere[name];
    assert.ok(here !== !!why, `${name}: ${here ? "is here and has a reason not to be" : "is nowhere"}`);
    if (why?.startsWith("wpt-browser")) assert.ok(named("wpt-browser.test.mjs", name), `${name} is not in wpt-browser.test.mjs`);
  }
  for (const name of Object.keys(elsewhere)) assert.ok(names.includes(name), name);
});
