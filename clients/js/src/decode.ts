// Decoders: bytes in, events out. They perform no I/O and hold at most one incomplete event.

import type { Raw } from "./event.js";

/** The format of the stream. */
export type Format = "sse" | "ndjson" | "protobuf";

/** What a decoder calls. */
export interface Wire {
  event(raw: Raw): void;
  /** The reconnection time that the server asks for, in milliseconds. */
  retry(ms: number): void;
}

/** A decoder takes the stream piece by piece, wherever it was cut. It throws if it cannot make sense of it. */
export type Decoder = (chunk: Uint8Array) => void;

/** An error after which another attempt would fail the same way. */
export const fatal = (message: string, code?: number) => Object.assign(new Error(message), { fatal: true, code });

const tooLong = (max: number) => fatal(`an event is longer than ${max} bytes: raise maxBytes`);

/** What the types of the hub's own messages begin with. */
export const reserved = "hub:";

/** The type of an event that only tells a position, or with an empty ID that there is none any more. No server can send it. */
export const position = "\n";

/** Splits text into lines, which may end in CRLF, LF or CR. A long line is searched once. */
function lines(max: number, line: (text: string) => void): Decoder {
  const utf8 = new TextDecoder();
  let rest = "";
  let cr = false; // the last piece ended in CR: a LF at the start of the next one belongs to it
  return (chunk) => {
    const text = utf8.decode(chunk, { stream: true });
    let from = cr && text[0] === "\n" ? 1 : 0;
    const add = (to: number) => {
      rest += text.slice(from, to);
      if (rest.length > max) throw tooLong(max);
    };
    if (text) cr = text.endsWith("\r");
    const end = /\r\n?|\n/g;
    end.lastIndex = from;
    for (let m; (m = end.exec(text)); from = end.lastIndex) {
      add(m.index);
      line(rest);
      rest = "";
    }
    add(text.length);
  };
}

/**
 * Server-Sent Events (WHATWG HTML 9.2.6), with the field `topic`. An event without an `id` field has no ID; an empty one takes
 * back the ID of those before.
 */
function sse(max: number, wire: Wire): Decoder {
  let topic = "", type = "", id: string | undefined, data: string | undefined;
  return lines(max, (line) => {
    const [, name, value = ""] = /^([^:]*)(?:: ?([^]*))?$/.exec(line)!;
    if (!line) {
      if (id === "" || (id && data === undefined)) wire.event(["", id, position, ""]);
      if (data !== undefined) wire.event([topic, id ?? "", type, data]);
      topic = type = "";
      id = data = undefined;
    } else if (name === "data") {
      data = data === undefined ? value : `${data}\n${value}`;
      if (data.length > max) throw tooLong(max);
    } else if (name === "id") {
      if (!value.includes("\0")) id = value;
    } else if (name === "event") {
      type = value;
    } else if (name === "topic") {
      topic = value;
    } else if (name === "retry" && /^\d+$/.test(value)) {
      wire.retry(+value);
    }
  });
}

/**
 * One JSON object a line, whose last member is the payload. An empty line is a heartbeat. A payload that is JSON is cut out
 * of the line: parsed and written again, 1.0 would become 1, and long numbers others.
 */
function ndjson(max: number, wire: Wire): Decoder {
  return lines(max, (line) => {
    if (!line) return;
    const { topic = "", id = "", type = "", data = "", json, base64 } = JSON.parse(line);
    wire.event([
      topic, id, type,
      base64 ? Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))
        : typeof data === "string" && !json ? data
          : /"data"\s*:\s*([^]*)}/.exec(line)![1]!,
    ]);
  });
}

/** Reads a varint. The result is [value, offset after it], or nothing if more bytes are needed. */
function varint(bytes: Uint8Array, at: number): [value: number, next: number] | undefined {
  let value = 0;
  for (let shift = 0; at < bytes.length; shift += 7) {
    if (shift > 63) break;
    const b = bytes[at++]!;
    value += (b & 127) * 2 ** shift;
    if (b < 128) return [value, at];
  }
  if (at < bytes.length) throw new Error("the stream is not protobuf");
  return;
}

/** The fields of a message by their numbers: the last one wins. Unknown fields are kept, and harm nobody. */
function fields(bytes: Uint8Array): { [field: number]: number | Uint8Array } {
  const found: { [field: number]: number | Uint8Array } = {};
  const next = (): number => {
    const read = varint(bytes, at);
    if (!read) throw new Error("a message of the stream is incomplete");
    at = read[1];
    return read[0];
  };
  let at = 0;
  while (at < bytes.length) {
    const tag = next();
    const kind = tag % 8;
    if (kind === 0) {
      found[(tag - kind) / 8] = next();
      continue;
    }
    const size = kind === 2 ? next() : kind === 1 ? 8 : kind === 5 ? 4 : NaN;
    if (!(at + size <= bytes.length)) throw new Error("a message of the stream is incomplete");
    // A copy: a view would keep, and send to other tabs, all that was received with it.
    found[(tag - kind) / 8] = new Uint8Array(bytes.subarray(at, (at += size)));
  }
  return found;
}

/** Messages of push/format/events.proto, each after its length as a varint. An empty one is a heartbeat. */
function protobuf(max: number, wire: Wire): Decoder {
  const utf8 = new TextDecoder();
  const text = (value: unknown) => (value instanceof Uint8Array ? utf8.decode(value) : "");
  const message = (bytes: Uint8Array) => {
    const { 1: topic, 2: id, 3: type, 4: data, 5: gap, 6: bye, 7: start } = fields(bytes);
    let control: unknown;
    if (gap instanceof Uint8Array) {
      const { 1: from, 2: to, 3: dropped, 4: reason } = fields(gap);
      control = { from: text(from), to: text(to), dropped, reason: text(reason) };
    } else if (bye instanceof Uint8Array) {
      const { 1: reason, 2: retry_ms } = fields(bye);
      control = { reason: text(reason), retry_ms };
    } else if (start instanceof Uint8Array) {
      control = { retry_ms: fields(start)[1] };
    }
    wire.event([text(topic), text(id), text(type), control ? JSON.stringify(control) : data instanceof Uint8Array ? data : ""]);
  };
  let parts: Uint8Array[] = [], size = 0, need = 1;
  return (chunk) => {
    parts.push(chunk);
    size += chunk.length;
    if (size < need) return; // a long message is put together once
    let bytes = chunk, at = 0;
    if (parts.length > 1) {
      bytes = new Uint8Array(size);
      for (const part of parts) (bytes.set(part, at), (at += part.length));
      at = 0;
    }
    for (;;) {
      need = size - at + 1;
      const length = varint(bytes, at);
      if (!length) break;
      const end = length[0] + length[1];
      if (length[0] > max) throw tooLong(max);
      need = end - at;
      if (end > size) break;
      if (length[0]) message(bytes.subarray(length[1], end));
      at = end;
    }
    bytes = bytes.subarray(at);
    parts = [bytes];
    size = bytes.length;
  };
}

/** The media type and the decoder of each format. */
export const formats: Record<Format, [type: string, decoder: (max: number, wire: Wire) => Decoder]> = {
  sse: ["text/event-stream", sse],
  ndjson: ["application/x-ndjson", ndjson],
  protobuf: ["application/vnd.redline.events+protobuf", protobuf],
};
