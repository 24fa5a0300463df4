// One connection for all tabs: one of them leads, the others listen.
//
// The leader is the tab that holds a Web Lock. When its tab is closed or crashes, the browser gives the lock to the tab
// that has waited longest. A leader that is frozen or hangs keeps its lock but does not answer, so the others take it.
//
//	leader     lock ── connection ──▶ take ──▶ this tab
//	                        └───────▶ BroadcastChannel ──▶ take ──▶ every other tab
//
// Who leads anew continues after the last event that it has itself received. Others may be ahead of it: they know the
// IDs that they have seen. Others may have missed something: they notice by numbers, and announce a gap.

import type { Sink } from "./connection.js";
import { position } from "./decode.js";
import type { Gap, Raw, Status } from "./event.js";

/** Asks the leader for a sign of life. */
const ask = 0;
const status = 1;
const event = 2;
const gap = 3;

/**
 * A message of the leader. term grows with every leader; n counts the events and gaps of a term; last is the position
 * before the message.
 */
type Message =
  | readonly [kind: typeof ask]
  | readonly [kind: typeof status, term: number, n: number, last: string, what: Status]
  | readonly [kind: typeof event, term: number, n: number, last: string, what: Raw]
  | readonly [kind: typeof gap, term: number, n: number, last: string, what: Gap];

/** How many IDs a tab remembers to recognise what it already has. */
const remembered = 1000;

/** Reasons of gaps after which the same IDs may be those of other events. */
const renewed = /epoch|unknown-id|tabs/;

/** Whether this browser can share. */
export const canShare = () => typeof BroadcastChannel === "function" && !!globalThis.navigator?.locks;

/**
 * Joins the connection with a name. open makes the connection when this tab leads. pause and resume enclose the time for
 * which the page is frozen: a paused tab does not lead, but still listens, and the browser keeps the messages for it.
 */
export function share(name: string, last: string, open: (last: string, sink: Sink) => () => void, sink: Sink) {
  const channel = new BroadcastChannel(name);
  const seen = new Map<string, number>(); // ID to the term in which it came
  let term = 0; // of the current leader
  let n = 0; // number of its next event or gap
  let quiet = 0; // ticks since the leader was heard
  let shown = ""; // the status
  let late: ReturnType<typeof setTimeout>; // for a leader that does not attempt when it said it would
  let leave: (() => void) | undefined; // if this tab leads
  let waits: AbortController | undefined; // for the lock, or has it

  const announce = (g: Gap) => {
    if (renewed.test(g.reason)) seen.clear();
    sink.gap(g);
  };
  const missed = (before: string, to: string) => {
    announce({ from: last, to, reason: "tabs" });
    last = before;
  };

  const take = (m: Message) => {
    if (m[0] === ask) {
      if (leave && shown) tell(status, JSON.parse(shown));
      return;
    }
    const [kind, by, number, before, what] = m;
    if (by < term) return; // of a leader that does not know yet that it leads no more
    quiet = 0;
    clearTimeout(late);
    const next = kind === event ? what[1] : before;
    if (by > term) {
      term = by;
      leave?.();
      if (!last) last = before;
      else if (before !== last && !seen.has(before)) missed(before, next);
    } else if (number !== n) {
      missed(before, next);
    }
    n = number;
    if (kind === status) {
      const text = JSON.stringify(what);
      if (text !== shown) {
        shown = text;
        sink.status(what);
      }
      // The timers of a hidden leader are slow: a tab whose timers are not attempts in its place.
      if (!leave && what.delay !== undefined) late = setTimeout(seize, what.delay + 1000 + 1000 * Math.random());
      return;
    }
    n++;
    if (kind === gap) return announce(what);
    const [, id, type] = what;
    if (id) {
      if (seen.get(id)! < term) return; // from two leaders; twice from one of them, it is another event
      seen.delete(id);
      seen.set((last = id), term);
      if (seen.size > remembered) seen.delete(seen.keys().next().value!);
    } else if (type === position) last = "";
    sink.event(what);
  };

  const tell = (kind: number, what: Status | Raw | Gap) => {
    const m = [kind, term, n, last, what] as unknown as Message;
    channel.postMessage(m);
    take(m);
  };

  const lead = (steal?: boolean) => {
    const own = (waits = new AbortController());
    const held = () =>
      new Promise<void>((release) => {
        if (own.signal.aborted) return release();
        term = Math.max(term + 1, Date.now());
        n = 0;
        let stop: () => void;
        leave = () => {
          leave = undefined;
          stop?.();
          release();
        };
        own.signal.addEventListener("abort", () => leave?.());
        stop = open(last, {
          event: (raw) => tell(event, raw),
          gap: (g) => tell(gap, g),
          // A refusal is for this tab and its headers. The sink closes this line, and the next tab tries with its own.
          status: (s) => (s.state === "closed" ? sink.status(s) : tell(status, s)),
        });
        if (!leave) stop(); // a callback has closed the subscription meanwhile
      });
    navigator.locks
      .request(name, steal ? { steal } : { signal: own.signal }, held)
      .catch(() => {}) // stolen, or aborted
      .then(() => {
        if (waits !== own) return;
        leave?.();
        lead();
      });
  };

  const pause = () => {
    waits?.abort();
    waits = undefined;
  };
  const seize = () => {
    quiet = 0;
    if (leave || !waits) return;
    pause();
    lead(true);
  };
  const timer = setInterval(() => {
    if (leave || !waits || ++quiet < 2) return;
    if (quiet === 2) channel.postMessage([ask]);
    else seize();
  }, 1500 + 1000 * Math.random());
  const close = () => {
    pause();
    clearInterval(timer);
    clearTimeout(late);
    channel.close();
  };

  channel.onmessage = (e: MessageEvent<Message>) => take(e.data);
  channel.postMessage([ask]);
  lead();
  return { pause, resume: () => void (waits || lead()), close };
}
