// What a program can say about a subscription.

import type { Format } from "./decode.js";
import type { Gap, PushEvent, Status } from "./event.js";

/** Options of a subscription. All are optional. */
export interface Options {
  /** Topics or patterns: `*` is one segment, `**` at the end any number. Sent as `?topic=`; none: what the URL says. */
  topics?: readonly string[];
  /** The format of the stream: `sse` if not given. */
  format?: Format;
  /** Fields of the request, for example Authorization. A function is called before every attempt. */
  headers?: HeadersInit | (() => HeadersInit | Promise<HeadersInit>);
  /** Whether cookies are sent: `same-origin` if not given. */
  credentials?: RequestCredentials;
  /** The ID of the last event that is already known. The server continues after it, or announces a gap. */
  lastEventId?: string;
  /**
   * One connection for all tabs and workers of the origin that subscribe to the same URL, topics and format. Give a
   * string, such as the user's ID, if what tabs of one origin may read differs: only equal strings share. A browser
   * without BroadcastChannel and Web Locks, or a page that is not secure, has a connection of its own.
   */
  share?: boolean | string;
  /**
   * How connections are made: `fetch` where it can stream, else `eventsource`, which has limits (see the README). One is
   * that events are missed in silence if the connection breaks before the first of them.
   */
  transport?: "fetch" | "eventsource";
  /** Types of events to receive through an EventSource, which has to know them. */
  types?: readonly string[];
  /** Milliseconds without a byte after which a connection is given up: 45,000 if not given; 0 for never. */
  heartbeat?: number;
  /** Milliseconds that the first pause is shorter than: 1,000 until the server says another number (`retry:`, 100 at least). */
  retry?: number;
  /** Milliseconds that every pause is shorter than, except one that the server asks for: 30,000 if not given. */
  maxRetry?: number;
  /** The longest event, in bytes of the stream or characters of its text: 16 MiB if not given. */
  maxBytes?: number;
  /** Used instead of the global fetch. */
  fetch?: typeof fetch;
  /** Called with each event, in order, in one call at a time. What it throws is reported, and harms nothing. */
  onEvent?(event: PushEvent): void;
  /** Called before the event after a gap. What the page shows may be out of date: load it anew. */
  onGap?(gap: Gap): void;
  /** Called when the connection's state changes. */
  onStatus?(status: Status): void;
}
