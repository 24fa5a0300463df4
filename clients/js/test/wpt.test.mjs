// What servers other than the hub may send: the cases of web-platform-tests, eventsource, and types that the hub has too.

import assert from "node:assert/strict";
import { test } from "node:test";
import { subscribe } from "../dist/index.js";

/** Streams an answer cut into pieces, and returns the events, and what the next attempt asks to continue after. */
function heard(text, { mime = "text/event-stream", cut = 0, transport } = {}) {
  return new Promise((done) => {
    const bytes = new TextEncoder().encode(text);
    const events = [];
    let calls = 0;
    const subscription = subscribe("http://hub.example/events", {
      retry: 1, maxRetry: 2, transport,
      onEvent: (e) => events.push(e.text()),
      onStatus: ({ state, reason }) => state === "closed" && done({ events, closed: reason }),
      async fetch(_, { headers }) {
        if (++calls > 1) {
          const last = headers.get("Last-Event-ID");
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

const long = "x".repeat(2000);
for (const [name, text, events, last] of [
  ["format-bom", "\uFEFFdata:1\n\n\uFEFFdata:2\n\ndata:3\n\n", ["1", "3"]],
  ["format-bom-2", "\uFEFF\uFEFFdata:1\n\ndata:2\n\ndata:3\n\n", ["2", "3"]],
  ["format-comments", `data:1\r:\0\n:\r\ndata:2\n:${long}\rdata:3\n:data:fail\r:${long}\ndata:4\n\n`, ["1\n2\n3\n4"]],
  ["format-data-before-final-empty-line", "retry:1000\ndata:test1\n\nid:test\ndata:test2", ["test1"], null],
  ["format-field-data", "data:\n\ndata\ndata\n\ndata:test", ["", "\n"]],
  ["format-field-event-empty", "event: \ndata:data\n\n", ["data"]],
  ["format-field-id", "id: 1\ndata:x\n\n", ["x"], "1"],
  ["format-field-id-2", "id:1\ndata:x\n\ndata:y\n\n", ["x", "y"], "1"],
  ["format-field-id-3", "id:1\ndata:x\n\nid\ndata:y\n\n", ["x", "y"], null],
  ["an empty id alone", "id:1\ndata:x\n\nid:\n\n", ["x"], null],
  ["format-field-id-null", "id: a\0b\ndata:x\n\n", ["x"], null],
  ["an id alone", "id: 7\n\n", [], "7"],
  ["format-field-parsing", "data:\0\ndata:  2\rData:1\ndata\0:2\ndata:1\r\0data:4\nda-ta:3\rdata_5\ndata:3\rdata:\r\n data:32\ndata:4\n\n", ["\0\n 2\n1\n3\n\n4"]],
  ["format-field-unknown", "data:test\n data\ndata\nfoobar:xxx\njustsometext\n:thisisacommentyay\ndata:test\n\n", ["test\n\ntest"]],
  ["format-leading-space", "data:\ttest\rdata: \ndata:test\n\n", ["\ttest\n\ntest"]],
  ["format-newlines", "data:test\r\ndata\ndata:test\r\n\r\n", ["test\n\ntest"]],
  ["format-null-character", "data:\0\n\n\n\n", ["\0"]],
  ["hub:gap", "event: hub:gap\ndata: hello\n\ndata:after\n\n", ["hello", "after"]],
  ["hub:bye", "event: hub:bye\nid: 3\ndata: null\n\nevent: hub:bye\ndata: 7\n\ndata:after\n\n", ["null", "7", "after"], "3"],
  ["hub:x", "event: hub:x\ndata: hello\n\ndata:after\n\n", ["hello", "after"]],
]) {
  for (const cut of [0, 1]) {
    test(`${name}${cut ? ", byte by byte" : ""}`, async () => {
      const got = await heard(text, { cut });
      assert.deepEqual(got.events, events);
      if (last !== undefined) assert.deepEqual([got.last, got.id], [last, last ?? ""]);
    });
  }
}

for (const [mime, good] of [
  ["text/event-stream;", true], ["text/event-stream;charset=windows-1252", true], ["TEXT/Event-Stream", true], ["Text/Event-Stream ; charset=UTF-8", true],
  ["text/event-stream-x", false], ["text/x-bogus", false], ["text/event-streamtext/html", false],
]) {
  test(`the media type ${mime}`, async () => {
    const { events } = await heard("data:1\n\n", { mime });
    assert.deepEqual(events, good ? ["1"] : []);
  });
}
