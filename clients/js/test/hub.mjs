// A hub for tests: it speaks the wire format of package push, and misbehaves on demand. It keeps one history of all topics.

import { once } from "node:events";
import { createServer } from "node:http";

const types = {
  sse: "text/event-stream",
  ndjson: "application/x-ndjson",
  protobuf: "application/vnd.redline.events+protobuf",
};

/** Reports whether a pattern of topics matches: `*` is one segment, `**` at the end any number. */
export function matches(pattern, topic) {
  const want = pattern.split("/"), have = topic.split("/");
  const deep = want.at(-1) === "**";
  if (deep) want.pop();
  return (deep ? have.length >= want.length : have.length === want.length) && want.every((w, i) => w === "*" || w === have[i]);
}

const varint = (n) => {
  const out = [];
  for (; n > 127; n = Math.floor(n / 128)) out.push((n % 128) | 128);
  return Buffer.from([...out, n]);
};
const part = (no, bytes) => (bytes.length ? Buffer.concat([varint(no * 8 + 2), varint(bytes.length), bytes]) : Buffer.alloc(0));
const word = (no, text = "") => part(no, Buffer.from(text));
const number = (no, n) => (n === undefined ? Buffer.alloc(0) : Buffer.concat([varint(no * 8), varint(n)]));

/** Encodes an event; data is text or bytes. Gaps and byes are encoded by control. */
export const encode = {
  sse({ topic, id, type, data }) {
    const lines = String(data).split(/\r\n?|\n/).map((line) => `data: ${line}\n`).join("");
    return Buffer.from(`${id ? `id: ${id}\n` : ""}${type ? `event: ${type}\n` : ""}${topic ? `topic: ${topic}\n` : ""}${lines}\n`);
  },
  ndjson({ topic, id, type, data }) {
    let value = JSON.stringify(data);
    if (typeof data !== "string") value = `"base64":"${data.toString("base64")}"`;
    else try {
      JSON.parse(data);
      value = `${data.startsWith('"') ? '"json":true,' : ""}"data":${data}`; // as it is
    } catch {
      value = `"data":${value}`;
    }
    return Buffer.from(`${JSON.stringify({ topic, id, type }).slice(0, -1)},${value}}\n`);
  },
  protobuf({ topic, id, type, data }) {
    const body = Buffer.concat([word(1, topic), word(2, id), word(3, type), part(4, Buffer.from(data))]);
    return Buffer.concat([varint(body.length), body]);
  },
};

/** Encodes a gap or a bye. */
export function control(format, type, data) {
  if (format !== "protobuf") return encode[format]({ type, data: JSON.stringify(data) });
  const inner = type === "hub:gap"
    ? part(5, Buffer.concat([word(1, data.from), word(2, data.to), number(3, data.dropped), word(4, data.reason)]))
    : part(6, Buffer.concat([word(1, data.reason), number(2, data.retry_ms)]));
  const body = Buffer.concat([word(3, type), inner]);
  return Buffer.concat([varint(body.length), body]);
}

// On Linux an address of this process's own: a hub that was killed finds its port free when it comes back, because the
// files of tests that run at the same time take ports of other addresses.
const own = `127.${1 + (process.pid >> 16) % 120}.${process.pid >> 8 & 255}.${process.pid % 254 + 1}`;
const host = process.platform === "linux" ? own : "127.0.0.1";

const beat = { sse: Buffer.from(":\n\n"), ndjson: Buffer.from("\n"), protobuf: Buffer.from([0]) };

export class Hub {
  /** Every request for events: { url, headers }. */
  requests = [];
  /** What is served besides: path to { type, body }, or to a handler. */
  pages = new Map();
  /**
   * Answers for the next requests for events, in order: { status, headers, body }, "stall" to not answer, or { reason, retry_ms } to
   * turn a client away.
   */
  answers = [];
  /** Sends the bytes of an event one by one. */
  dribble = false;
  /** Events kept for those who come back. */
  history = [];
  #seq = 0;
  #epoch = 1;
  #subscribers = new Set();
  #sockets = new Set();
  #watchers = new Set();

  constructor({ keep = 100_000, heartbeat = 15_000, retry, lifetime = 0, expose = false } = {}) {
    Object.assign(this, { keep, heartbeat, retry, lifetime, expose });
  }

  /** Opens the port: the one it had before, if it had one. */
  async listen() {
    this.server = createServer((q, w) => this.#serve(q, w));
    this.server.on("connection", (s) => {
      this.#sockets.add(s);
      s.on("close", () => this.#sockets.delete(s));
      s.on("error", () => {});
    });
    this.server.listen(this.port ?? 0, host);
    await once(this.server, "listening");
    this.port = this.server.address().port;
    if (this.heartbeat) this.timer = setInterval(() => this.#each((s) => this.#write(s, beat[s.format])), this.heartbeat);
    return this.url;
  }

  get url() {
    return `http://${host}:${this.port}`;
  }

  /** How many listen. */
  get subscribers() {
    return this.#subscribers.size;
  }

  /** Ends like a killed process. forget: what comes back is another one, without the history. */
  async kill({ forget = false } = {}) {
    clearInterval(this.timer);
    for (const s of this.#sockets) s.destroy();
    this.#subscribers.clear();
    await new Promise((done) => this.server.close(done));
    if (!forget) return;
    this.#epoch++;
    this.#seq = 0;
    this.history = [];
  }

  /** Waits until a condition on the hub holds; it is looked at after every request and every end of one. */
  until(condition) {
    if (condition(this)) return Promise.resolve();
    return new Promise((done) => this.#watchers.add({ condition, done }));
  }

  /** Publishes an event and returns its ID. */
  publish({ topic = "news", type = "", data = "", id }) {
    this.#seq++;
    const event = { topic, type, data, id: id ?? `${this.#epoch}-${this.#seq}` };
    this.history.push(event);
    if (this.history.length > this.keep) this.history.shift();
    this.#each((s) => s.topics.some((p) => matches(p, topic)) && this.#event(s, event));
    return event.id;
  }

  /** Tells all subscribers who has come or gone: events without an ID, which are not kept. */
  tell(type, data) {
    this.#each((s) => this.#event(s, { topic: "news", id: "", type: `hub:${type}`, data: JSON.stringify(data) }));
  }

  /** Tells all subscribers of a gap. */
  gap(data) {
    this.#each((s) => this.#write(s, control(s.format, "hub:gap", data)));
  }

  /** Sends the subscribers away. */
  bye(reason, retry_ms) {
    this.#each((s) => this.#dismiss(s, reason, retry_ms));
  }

  /** Breaks all connections, in the middle of an event if there is one. */
  cut(event) {
    this.#each((s) => {
      if (event) {
        const bytes = encode[s.format]({ id: "cut", topic: "news", ...event });
        s.w.write(bytes.subarray(0, bytes.length >> 1), () => s.w.destroy());
      } else {
        s.w.destroy();
      }
    });
  }

  /** Sends nothing more on the connections that there are, as behind a dead router. */
  mute() {
    this.#each((s) => (s.mute = true));
  }

  /** Writes bytes to every subscriber. */
  raw(bytes) {
    this.#each((s) => s.w.write(bytes));
  }

  #dismiss(s, reason, retry_ms) {
    this.#subscribers.delete(s);
    s.w.end(control(s.format, "hub:bye", { reason, retry_ms }));
  }

  #each(f) {
    for (const s of this.#subscribers) f(s);
  }

  #changed() {
    for (const watcher of this.#watchers) {
      if (watcher.condition(this)) {
        this.#watchers.delete(watcher);
        watcher.done();
      }
    }
  }

  #write(s, bytes) {
    if (s.mute) return;
    if (this.dribble) for (const b of bytes) s.w.write(Buffer.from([b]));
    else s.w.write(bytes);
  }

  #event(s, event) {
    const { topic, ...rest } = event;
    this.#write(s, encode[s.format](s.named ? event : rest));
  }

  #serve(q, w) {
    const url = new URL(q.url, this.url);
    const page = this.pages.get(url.pathname);
    if (typeof page === "function") return page(q, w);
    if (page) return w.writeHead(200, { "Content-Type": page.type, "Cache-Control": "no-store" }).end(page.body);
    if (url.pathname !== "/events") return w.writeHead(404).end();
    if (this.expose) w.setHeader("Access-Control-Allow-Origin", "*");
    this.requests.push({ url, headers: q.headers });
    const answer = this.answers.shift();
    if (answer === "stall") return this.#changed();
    if (answer?.reason) {
      this.#turnAway(q, w, answer);
      return this.#changed();
    }
    if (answer) {
      w.writeHead(answer.status, answer.headers).end(answer.body);
      return this.#changed();
    }
    this.#subscribe(q, w, url);
    this.#changed();
  }

  /** Does not take a client: an EventSource comes again only after 200. */
  #turnAway(q, w, { reason, retry_ms = 0 }) {
    if (!q.headers.accept?.includes(types.sse)) return w.writeHead(503, { "Retry-After": Math.ceil(retry_ms / 1000) }).end(reason);
    w.writeHead(200, { "Content-Type": types.sse, "Cache-Control": "no-store" });
    w.end(`retry: ${retry_ms}\n${control("sse", "hub:bye", { reason, retry_ms })}`);
  }

  #subscribe(q, w, url) {
    const format = Object.keys(types).find((f) => (q.headers.accept ?? types.sse).includes(types[f])) ?? "sse";
    const topics = url.searchParams.getAll("topic");
    if (!topics.length) topics.push("**");
    const s = { w, format, topics, named: topics.length > 1 || topics[0].includes("*") };
    w.writeHead(200, { "Content-Type": types[format], "Cache-Control": "no-store" });
    w.flushHeaders();
    w.on("close", () => {
      clearTimeout(s.end);
      this.#subscribers.delete(s);
      this.#changed();
    });
    if (format === "sse" && this.retry !== undefined) w.write(`retry: ${this.retry}\n\n`);
    const last = url.searchParams.get("last_event_id") ?? Buffer.from(q.headers["last-event-id"] ?? "", "latin1").toString();
    if (last) this.#replay(s, last);
    if (this.lifetime) s.end = setTimeout(() => this.#dismiss(s, "lifetime", 0), this.lifetime);
    this.#subscribers.add(s);
  }

  /** Sends what a subscriber has missed, or says that it cannot. */
  #replay(s, last) {
    const at = this.history.findIndex((e) => e.id === last);
    if (at >= 0 || last === "earliest") {
      for (const e of this.history.slice(at + 1)) if (s.topics.some((p) => matches(p, e.topic))) this.#event(s, e);
      return;
    }
    const reason = !/^\d+-\d+$/.test(last) ? "unknown-id" : last.startsWith(`${this.#epoch}-`) ? "history" : "epoch";
    this.#write(s, control(s.format, "hub:gap", { from: last, to: this.history[0]?.id ?? "", reason }));
    for (const e of this.history) if (s.topics.some((p) => matches(p, e.topic))) this.#event(s, e);
  }
}
