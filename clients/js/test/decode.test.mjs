// The decoders: every format, cut anywhere, and input that no hub sends.

import assert from "node:assert/strict";
import { test } from "node:test";
import { formats, position } from "../dist/decode.js";
import { PushEvent } from "../dist/index.js";
import { control, encode } from "./hub.mjs";

const max = 1 << 20;

/** Decodes pieces: everything that the decoder said, in order. */
function decoded(format, pieces, limit = max) {
  const all = [];
  const decode = formats[format][1](limit, {
    event: ([topic, id, type, data]) => all.push({ topic, id, type, data }),
    retry: (ms) => all.push(ms),
  });
  for (const piece of pieces) decode(typeof piece === "string" ? new TextEncoder().encode(piece) : piece);
  return all;
}

const plain = (data, more) => ({ topic: "", id: "", type: "", data, ...more });

for (const [name, text, want] of [
  ["one line", "data: x\n\n", [plain("x")]],
  ["fields", "id: 1-7\nevent: price\ntopic: a/b\ndata: x\n\n", [{ topic: "a/b", id: "1-7", type: "price", data: "x" }]],
  ["lines of data", "data: a\ndata:b\ndata:  c\n\n", [plain("a\nb\n c")]],
  ["CRLF and CR", "data: a\r\n\r\ndata: b\r\rdata: c\n\n", [plain("a"), plain("b"), plain("c")]],
  ["empty data", "data\n\n", [plain("")]],
  ["two empty lines of data", "data\ndata\n\n", [plain("\n")]],
  ["comment", ":\n\n: x\ndata: y\n\n", [plain("y")]],
  ["no data", "event: x\n\n", []],
  ["position", "id: 1-3\n\ndata: x\n\n", [plain("", { id: "1-3", type: position }), plain("x")]],
  ["id with NUL", "id: a\0b\ndata: x\n\n", [plain("x")]],
  ["an empty id takes back the last", "id: 1\ndata: x\n\nid\ndata: y\n\nid:\n\n", [
    plain("x", { id: "1" }), plain("", { type: position }), plain("y"), plain("", { type: position }),
  ]],
  ["ids are not inherited", "id: 1\ndata: x\n\ndata: y\n\n", [plain("x", { id: "1" }), plain("y")]],
  ["retry", "retry: 250\n\nretry: 2s\n\nretry:\n\n", [250]],
  ["unknown field", "colour: red\ndata: x\n\n", [plain("x")]],
  ["colons", "data: a:b: c\n\n", [plain("a:b: c")]],
  ["byte order mark", "\ufeffdata: x\n\n", [plain("x")]],
  ["incomplete", "data: x\n\ndata: y\n", [plain("x")]],
  ["characters of several bytes", "data: Zürich 😀\n\n", [plain("Zürich 😀")]],
]) {
  test(`sse: ${name}`, () => {
    const bytes = new TextEncoder().encode(text);
    assert.deepEqual(decoded("sse", [bytes]), want);
    for (let at = 0; at <= bytes.length; at++) assert.deepEqual(decoded("sse", [bytes.slice(0, at), bytes.slice(at)]), want, `cut at ${at}`);
    assert.deepEqual(decoded("sse", [...bytes].map((b) => Uint8Array.of(b))), want, "byte by byte");
  });
}

const events = [
  { topic: "prices/ACME", id: "7-1", type: "price", data: '{"p":1.25}' },
  { topic: "chat", id: "7-2", type: "", data: "not JSON\nfor sure" },
  { topic: "", id: "", type: "", data: "" },
  { topic: "ü/ö", id: "own id", type: "t", data: "x".repeat(70_000) },
];
const binary = { topic: "b", id: "7-3", type: "", data: Buffer.from([0xff, 0, 1, 0x80]) };

for (const format of Object.keys(formats)) {
  test(`${format}: what the hub encodes, however it is cut`, () => {
    const sent = format === "sse" ? [...events] : [...events, binary];
    if (format === "protobuf") sent.splice(2, 1); // an empty message is a heartbeat
    const bytes = Buffer.concat([
      ...sent.map(encode[format]),
      control(format, "hub:gap", { from: "7-3", to: "7-9", dropped: 300, reason: "slow" }),
      control(format, "hub:bye", { reason: "shutdown", retry_ms: 4000 }),
    ]);
    for (const size of [1, 2, 3, 7, 1000, bytes.length]) {
      const pieces = [];
      for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
      const got = decoded(format, pieces).map(({ data, ...rest }) => ({ ...rest, event: new PushEvent(["", "", "", data]) }));
      assert.equal(got.length, sent.length + 2);
      sent.forEach((want, i) => {
        const { event, ...rest } = got[i];
        assert.deepEqual(rest, { topic: want.topic, id: want.id, type: want.type });
        assert.deepEqual(Buffer.from(event.bytes()), Buffer.from(want.data));
      });
      const [gap, bye] = got.slice(-2);
      assert.equal(gap.type, "hub:gap");
      assert.deepEqual(gap.event.json(), { from: "7-3", to: "7-9", dropped: 300, reason: "slow" });
      assert.equal(bye.type, "hub:bye");
      assert.deepEqual(bye.event.json(), { reason: "shutdown", retry_ms: 4000 });
    }
  });

  test(`${format}: an event that is too long`, () => {
    const event = encode[format]({ topic: "t", id: "1", type: "", data: "x".repeat(2000) });
    assert.equal(decoded(format, [event], 3000).length, 1);
    for (const size of [1, event.length]) {
      const pieces = [];
      for (let at = 0; at < event.length; at += size) pieces.push(event.subarray(at, at + size));
      assert.throws(() => decoded(format, pieces, 1000), { fatal: true, message: "an event is longer than 1000 bytes: raise maxBytes" });
    }
  });

  test(`${format}: any bytes end in events or an error`, () => {
    let seed = 1;
    const random = (n) => (seed = (seed * 1103515245 + 12345) % 2 ** 31) % n;
    const valid = Buffer.concat([...events.slice(0, 3), binary].map(encode[format]));
    for (let i = 0; i < 3000; i++) {
      const bytes = i % 2 ? Buffer.from(valid) : Buffer.alloc(random(60));
      for (let n = i % 2 ? 3 : bytes.length; n > 0; n--) bytes[i % 2 ? random(bytes.length) : n - 1] = random(256);
      const outcome = (pieces) => {
        try {
          return decoded(format, pieces, 1000);
        } catch (e) {
          assert.ok(e instanceof Error, `${e}`);
          return "error";
        }
      };
      const cut = random(bytes.length + 1);
      assert.deepEqual(outcome([bytes.subarray(0, cut), bytes.subarray(cut)]), outcome([bytes]), bytes.toString("hex"));
    }
  });
}

for (const [name, bytes] of [
  ["group", [1, 0x0b]],
  ["field longer than its message", [3, 0x0a, 5, 0x41]],
  ["endless varint", Array(12).fill(0xff)],
  ["varint cut by its message", [2, 0x08, 0x80]],
]) {
  test(`protobuf: ${name}`, () => assert.throws(() => decoded("protobuf", [Uint8Array.from([...bytes, 0, 0, 0])]), /protobuf|incomplete/));
}

test("protobuf: heartbeats, unknown fields, and a length of several bytes", () => {
  const id = [0x12, 1, 0x41];
  const unknown = [0x38, 5, 0x41, 1, 2, 3, 4, 5, 6, 7, 8, 0x4d, 1, 2, 3, 4, 0x7a, 2, 9, 9];
  const body = [...unknown, ...id];
  assert.deepEqual(decoded("protobuf", [Uint8Array.from([0, 0, body.length | 128, 0, ...body, 0])]), [plain("", { id: "A" })]);
});

test("ndjson: heartbeats and values that are no text", () => {
  const got = decoded("ndjson", ['\n\n{"id":"1","data":[1,2]}\n{"id":"2","data":"a\\nb"}\n{"id":"3","data":null}\n']);
  assert.deepEqual(got.map((e) => new PushEvent(["", "", "", e.data]).text()), ["[1,2]", "a\nb", "null"]);
  for (const bad of ["{\n", "null\n", "[\n"]) assert.throws(() => decoded("ndjson", [bad]));
});

/** What json returns, or the name of its error. */
function parsed(event) {
  try {
    return event.json();
  } catch (e) {
    return e.name;
  }
}

for (const [data, json] of [
  ['{"a":[1]}', { a: [1] }],
  ['{"price":1.0,"id":12345678901234567890,"at":1e2}', { price: 1, id: 12345678901234567000, at: 100 }],
  ['{"a": {"data":1}, "data" : "}"}', { a: { data: 1 }, data: "}" }],
  ["1.0", 1],
  ["null", null],
  ['"42"', "42"],
  ['"hello"', "hello"],
  ['"\u2028 \\u2028 }"', "\u2028 \u2028 }"],
  ["hello", "SyntaxError"],
  ["{", "SyntaxError"],
  ['x "data":1}', "SyntaxError"],
  ["", "SyntaxError"],
]) {
  test(`payloads read the same in every format: ${data}`, () => {
    for (const format of Object.keys(formats)) {
      const [{ data: got }] = decoded(format, [encode[format]({ topic: '"data":', id: "data", type: "t", data })]);
      const event = new PushEvent(["", "", "", got]);
      assert.equal(event.text(), data, format);
      assert.deepEqual(parsed(event), json, format);
      assert.deepEqual(Buffer.from(event.bytes()), Buffer.from(data), format);
    }
  });
}

test("ndjson: white space between the members", () => {
  const [event] = decoded("ndjson", ['{"id" : "1", "data" : {"a": 1.0}}\n']);
  assert.deepEqual(event, plain('{"a": 1.0}', { id: "1" }));
});

test("protobuf: the bytes of an event hold nothing else of the stream", () => {
  const stream = Buffer.concat([encode.protobuf(binary), encode.protobuf(events[3])]);
  const [first] = decoded("protobuf", [stream]);
  assert.equal(first.data.buffer.byteLength, 4);
});
