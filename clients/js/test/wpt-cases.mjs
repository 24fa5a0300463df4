// What the streams of web-platform-tests (eventsource/format-*) look like, each with what an EventSource makes of it. The
// browser's own is held against it too, see wpt-browser.test.mjs.

const long = "x".repeat(2000);

/**
 * name: of the case there; text: the stream; events: [type, data] of each event; last: the ID that the next attempt names, null
 * for none; native: what the client sees through an EventSource if that is less.
 */
export const cases = [
  { name: "event-data", text: "data:a\ndata: a\n\n:\nno:field\n\nno:field\nData:data\n\ndata\n\ndata:end\n\n", events: ["a\na", "", "end"] },
  { name: "format-bom", text: "\uFEFFdata:1\n\n\uFEFFdata:2\n\ndata:3\n\n", events: ["1", "3"] },
  { name: "format-bom-2", text: "\uFEFF\uFEFFdata:1\n\ndata:2\n\ndata:3\n\n", events: ["2", "3"] },
  { name: "format-comments", text: `data:1\r:\0\n:\r\ndata:2\n:${long}\rdata:3\n:data:fail\r:${long}\ndata:4\n\n`, events: ["1\n2\n3\n4"] },
  { name: "format-data-before-final-empty-line", text: "retry:1000\ndata:test1\n\nid:test\ndata:test2", events: ["test1"], last: null },
  { name: "format-field-data", text: "data:\n\ndata\ndata\n\ndata:test", events: ["", "\n"] },
  { name: "format-field-event", text: "event:test\ndata:x\n\ndata:y\n\nevent:other\n\ndata:z\n\n", events: [["test", "x"], "y", "z"] },
  { name: "format-field-event-empty", text: "event:test\nevent: \ndata:data\n\n", events: ["data"] },
  { name: "format-field-id", text: "id: \u2026\ndata:x\n\n", events: ["x"], last: "\u2026" },
  { name: "format-field-id", text: "id: two words = \"1\"\ndata:x\n\n", events: ["x"], last: "two words = \"1\"" },
  { name: "format-field-id-2", text: "id:1\ndata:x\n\ndata:y\n\n", events: ["x", "y"], last: "1" },
  { name: "format-field-id-3", text: "id:1\ndata:x\n\nid\ndata:y\n\n", events: ["x", "y"], last: null },
  { name: "format-field-id-3", text: "id:1\ndata:x\n\nid:\n\n", events: ["x"], last: null, native: "1" },
  { name: "format-field-id-null", text: "id:1\nid: a\0b\nid:\0\ndata:x\n\n", events: ["x"], last: "1" },
  { name: "format-field-id-null", text: "id: a\0b\ndata:x\n\n", events: ["x"], last: null },
  { name: "format-field-id", text: "id: 7\n\n", events: [], last: "7", native: null },
  { name: "format-field-parsing", text: "data:\0\ndata:  2\rData:1\ndata\0:2\ndata:1\r\0data:4\nda-ta:3\rdata_5\ndata:3\rdata:\r\n data:32\ndata:4\n\n", events: ["\0\n 2\n1\n3\n\n4"] },
  { name: "format-field-retry", text: "retry:3000\n\ndata:x\n\n", events: ["x"], retry: [3000] },
  { name: "format-field-retry", text: "retry:03000\n\ndata:x\n\n", events: ["x"], retry: [3000] },
  { name: "format-field-retry-bogus", text: "retry:3000\nretry:1000x\nretry:-5\nretry:+7\nretry:1.5\nretry:1e3\nretry:\uFF11\nretry: 3000 \ndata:x\n\n", events: ["x"], retry: [3000] },
  { name: "format-field-retry-empty", text: "retry\nretry:\ndata:test\n\n", events: ["test"], retry: [] },
  { name: "format-field-unknown", text: "data:test\n data\ndata\nfoobar:xxx\njustsometext\n:thisisacommentyay\ndata:test\n\n", events: ["test\n\ntest"] },
  { name: "format-leading-space", text: "data:\ttest\rdata: \ndata:test\n\n", events: ["\ttest\n\ntest"] },
  { name: "format-newlines", text: "data:test\r\ndata\ndata:test\r\n\r\n", events: ["test\n\ntest"] },
  { name: "format-newlines", text: "data:a\r\rdata:b\r\n\r\ndata:c\n\r\n", events: ["a", "b", "c"] },
  { name: "format-null-character", text: "data:\0\n\n\n\n", events: ["\0"] },
  { name: "format-utf-8", text: "data:ok\u2026 \u{1F600}\n\n", events: ["ok\u2026 \u{1F600}"] },
  { name: "a huge line", text: `data:${"y".repeat(300_000)}\n:${"z".repeat(300_000)}\ndata:end\n\n`, events: [`${"y".repeat(300_000)}\nend`] },
].map((c) => ({ ...c, events: c.events.map((e) => (typeof e === "string" ? ["", e] : e)) }));
