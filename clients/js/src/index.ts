// The client of the hub: subscribe to topics, hear of every event or of the gap.

import { connect } from "./connection.js";
import { position } from "./decode.js";
import { type Gap, PushEvent, type Status } from "./event.js";
import type { Options } from "./options.js";
import { canShare, share } from "./tabs.js";

export type { Data, Gap, Raw, Status } from "./event.js";
export type { Format } from "./decode.js";
export type { Options } from "./options.js";
export { PushEvent };

/** A subscription that lives until close, or until the server has refused for good. */
export interface Subscription {
  /** The latest status. */
  readonly status: Status;
  /** The ID of the latest event; empty if there was none. */
  readonly lastEventId: string;
  /** Ends the subscription. Nothing is called after it. */
  close(): void;
}

/**
 * Subscribes to the hub at a URL, which may be relative to the page. It returns at once; what happens is in the calls of
 * options.onEvent, onGap and onStatus. Every event is delivered once and in order, or a gap is announced.
 */
export function subscribe(url: string | URL, options: Options = {}): Subscription {
  let last = options.lastEventId ?? "";
  let status: Status = { state: "connecting" };
  let closed = false;

  const to = new URL(url, globalThis.location?.href);
  for (const topic of options.topics ?? []) to.searchParams.append("topic", topic);

  // What a callback throws is an error of the page, not of the connection.
  const call = (f: () => void) => {
    if (closed) return;
    try {
      f();
    } catch (e) {
      queueMicrotask(() => {
        throw e;
      });
    }
  };
  const sink = {
    event(raw: ConstructorParameters<typeof PushEvent>[0]) {
      if (raw[1] || raw[2] === position) last = raw[1];
      if (raw[2] !== position) call(() => options.onEvent?.(new PushEvent(raw)));
    },
    gap: (gap: Gap) => call(() => options.onGap?.(gap)),
    status(now: Status) {
      if (now.state === "connecting" && status.state === now.state) return;
      status = now;
      call(() => options.onStatus?.(now));
      if (now.state === "closed") close();
    },
  };

  const own = () => {
    let stop: (() => void) | undefined;
    const pause = () => {
      stop?.();
      stop = undefined;
    };
    const resume = () => void (stop ??= connect(to, options, last, sink));
    return { pause, resume, close: pause };
  };
  const line =
    options.share && canShare()
      ? share(JSON.stringify(["redline", to.href, options.format, options.share]), last, (from, s) => connect(to, options, from, s), sink)
      : own();

  // A page that is about to be frozen or kept for the back button gives its connection up, and comes back.
  const moments = [
    [globalThis.document, "freeze", line.pause],
    [globalThis.document, "resume", line.resume],
    [globalThis, "pagehide", line.pause],
    [globalThis, "pageshow", line.resume],
  ] as const;
  for (const [where, name, f] of moments) where?.addEventListener?.(name, f);

  const close = () => {
    if (closed) return;
    closed = true;
    for (const [where, name, f] of moments) where?.removeEventListener?.(name, f);
    line.close();
    if (status.state !== "closed") status = { state: "closed" };
  };
  line.resume();
  return {
    get status() {
      return status;
    },
    get lastEventId() {
      return last;
    },
    close,
  };
}
