// One connection that comes back: attempts, pauses, and the watchdog.

import { formats, position, reserved } from "./decode.js";
import type { Data, Gap, Raw, Status } from "./event.js";
import type { Options } from "./options.js";
import { type Attempt, type Failure, viaEventSource, viaFetch } from "./transport.js";

/** Who hears from a connection. */
export interface Sink {
  /** An event, or a position: then that is its type. */
  event(raw: Raw): void;
  gap(gap: Gap): void;
  status(status: Status): void;
}

/** A connection that has lived this long has not failed: pauses begin anew. Milliseconds. */
const lived = 5000;
/** The longest pause that a server can ask for, in milliseconds. */
const longest = 3_600_000;
/** The shortest first bound of the pauses that a server can ask for: 0 would stay 0, however often it is doubled. */
const shortest = 100;
/** A response that has brought nothing for so long is no refusal: those say bye at once. Milliseconds. */
const silence = 1000;

/** What the hub says in a message of its own: an object. Anything else is an event of another server. */
const said = (data: Data) => {
  try {
    const control = JSON.parse(data as string);
    return typeof control === "object" && control;
  } catch {
    return;
  }
};

const streams = () => typeof Response === "function" && "body" in Response.prototype;

/**
 * Keeps a connection to url, after the event with the ID last. The returned function ends it; nothing is called after
 * that. The pause before attempt n is random below min(maxRetry, retry * 2^n): clients that a server has lost together
 * do not return together.
 */
export function connect(url: URL, o: Options, last: string, sink: Sink): () => void {
  const heartbeat = o.heartbeat ?? 45_000;
  const source = (o.transport ?? (streams() ? "fetch" : "eventsource")) === "fetch" ? viaFetch : viaEventSource;
  let attempt = 0;
  let base = o.retry || 1000;
  let asked = 0; // the part of the pause that the server has asked for
  let timer: ReturnType<typeof setTimeout>;
  let current: AbortController | undefined;

  const run = async () => {
    clearTimeout(timer);
    asked = 0;
    current?.abort();
    const own = (current = new AbortController());
    const { signal } = own;
    let opened = 0;
    let heard = Date.now();
    let pause: number | undefined; // what the server asks for
    let unsure: ReturnType<typeof setTimeout> | undefined; // whether the response is a refusal
    const taken = () => {
      if (!unsure) return;
      clearTimeout(unsure);
      unsure = undefined;
      sink.status({ state: "open" });
    };
    const heartbeats = source === viaFetch && heartbeat && setInterval(() => {
      heard = Math.min(heard, Date.now()); // a clock that was set back must not blind the watchdog
      if (Date.now() - heard > heartbeat) own.abort(new Error(`nothing received for ${heartbeat} ms`));
    }, heartbeat / 4);
    const wire = {
      retry: (ms: number) => (base = Math.min(Math.max(ms, shortest), longest)),
      event(raw: Raw) {
        if (signal.aborted) return;
        const [, id, type, data] = raw;
        const control = /^hub:(?!here|join|leave)/.test(type) && said(data);
        const bye = control && type === `${reserved}bye`;
        if (!bye) taken();
        if (signal.aborted) return; // by who was told
        if (id || type === position) last = id;
        if (!control) return sink.event(raw);
        if (type === `${reserved}gap`) sink.gap(control);
        if (type === `${reserved}start` && typeof control.retry_ms === "number") wire.retry(control.retry_ms);
        if (!bye) {
          if (id) sink.event(["", id, position, ""]);
          return;
        }
        pause = Math.max(+control.retry_ms || 0, 0);
        own.abort(new Error(control.reason));
      },
    };
    const decode = formats[o.format ?? "sse"][1](o.maxBytes ?? 16 << 20, wire);
    const a: Attempt = {
      url: new URL(url), o, last, signal, wire,
      open() {
        if (signal.aborted) return;
        opened = heard = Date.now();
        unsure = setTimeout(taken, silence);
      },
      bytes(chunk) {
        heard = Date.now();
        decode(chunk);
      },
    };
    let why: Failure;
    try {
      sink.status({ state: "connecting" });
      signal.throwIfAborted();
      await Promise.race([
        source(a),
        new Promise((_, no) => signal.addEventListener("abort", () => no(signal.reason))),
      ]);
      why = new Error("the server has ended the response");
    } catch (e) {
      why = e as Failure;
    }
    clearInterval(heartbeats || undefined);
    clearTimeout(unsure);
    if (own !== current) return; // another attempt has replaced this one, or the end
    current = undefined;
    own.abort();
    const status = { reason: why.message, ...(why.code && { code: why.code }) };
    if (why.fatal) {
      end();
      return sink.status({ state: "closed", ...status });
    }
    const stayed = opened && Date.now() - opened > lived;
    if (stayed) attempt = 0;
    // A pause after bye is this client's own already. It is no way around the backoff for a server that ends everything.
    let delay = (asked = Math.min(pause ?? why.after ?? 0, longest));
    if (pause === undefined || !stayed) delay += Math.random() * Math.min(o.maxRetry ?? 30_000, base * 2 ** attempt++);
    timer = setTimeout(run, delay);
    sink.status({ state: "waiting", delay: Math.round(delay), ...status });
  };

  // The system says that the network is back: what seems to be a connection may belong to the old one. A server that wants
  // to be left alone is reached all the same.
  const online = () => {
    attempt = 0;
    if (!asked) run();
  };
  const end = () => {
    clearTimeout(timer);
    globalThis.removeEventListener?.("online", online);
    const was = current;
    current = undefined;
    was?.abort();
  };
  globalThis.addEventListener?.("online", online);
  run();
  return end;
}
