// Events, and what the client says about its connection.

/** The payload of an event: text as it was published, or bytes. */
export type Data = string | Uint8Array;

/** An event that can be sent to another tab. */
export type Raw = readonly [topic: string, id: string, type: string, data: Data];

/**
 * An event of the hub. Its payload reads the same in every format: the one that was chosen for the connection does not
 * matter to the code that uses the events.
 */
export class PushEvent {
  /** The topic. Empty if the server does not name it, which it need not for subscribers of one exact topic. */
  readonly topic: string;
  /** The event's own ID, empty if it has none. */
  readonly id: string;
  /** The type that the publisher gave it, or the empty string. */
  readonly type: string;
  readonly #data: Data;

  constructor([topic, id, type, data]: Raw) {
    this.topic = topic;
    this.id = id;
    this.type = type;
    this.#data = data;
  }

  /**
   * Returns the payload as text. Bytes are decoded as UTF-8. Only white space can differ between the formats: NDJSON does
   * not keep it around JSON, and not within JSON of several lines; SSE reads every line break as LF.
   */
  text(): string {
    const data = this.#data;
    return typeof data === "string" ? data : new TextDecoder().decode(data);
  }

  /** Returns the payload parsed as JSON. It throws a SyntaxError if the payload is not JSON. */
  json<T = unknown>(): T {
    return JSON.parse(this.text());
  }

  /** Returns the payload as bytes. */
  bytes(): Uint8Array {
    const data = this.#data;
    return typeof data === "string" ? new TextEncoder().encode(data) : data;
  }
}

/** Events that this client has not received and will not receive: what is shown may be out of date. */
export interface Gap {
  /** The ID of the last event before the gap. */
  from: string;
  /** The ID of the next event that is delivered, or the position that it follows; empty if neither is known yet. */
  to: string;
  /** How many events are missing. Absent if nobody knows. */
  dropped?: number;
  /**
   * Why: they are no longer in the `history`; the server has restarted (`epoch`); this client was too `slow`; the
   * `broker` was lost; the server does not know the ID (`unknown-id`); another tab had the connection and this one may
   * have missed what it received (`tabs`).
   */
  reason: "history" | "epoch" | "slow" | "broker" | "unknown-id" | "tabs" | (string & {});
}

/** What the connection does. With a shared connection, this is the state of the tab that has it, but for `closed`. */
export interface Status {
  /**
   * - `connecting`: a request has been sent, or is about to be.
   * - `open`: the server has answered, and not just to say bye.
   * - `waiting`: the next attempt follows after `delay`.
   * - `closed`: by `close()`, or because no further attempt could succeed: see `reason` and `code`. Other tabs that share
   *   the connection are not closed by that: they try themselves.
   */
  state: "connecting" | "open" | "waiting" | "closed";
  /** Milliseconds until the next attempt, from the moment of the change to `waiting`. */
  delay?: number;
  /**
   * Why the connection ended: an error in words, or what the server said: `shutdown`, `lifetime`, `slow`, `memory`, or when it did
   * not take this client, `limit` and `broker`.
   */
  reason?: string;
  /** The status code of HTTP, if the server has refused. */
  code?: number;
}
