// One attempt: a request whose response is the stream.

import { fatal, formats, position, reserved, type Wire } from "./decode.js";
import type { Options } from "./options.js";

/** What an attempt needs, and whom it tells. */
export interface Attempt {
  url: URL;
  o: Options;
  /** The ID to continue after, or the empty string. */
  last: string;
  signal: AbortSignal;
  wire: Wire;
  /** The server has answered with a stream, which may be a refusal. */
  open(): void;
  /** A piece of the stream. */
  bytes(chunk: Uint8Array): void;
}

/** Why an attempt ended. */
export interface Failure extends Error {
  /** Another attempt would fail the same way. */
  fatal?: boolean;
  /** The status code, if the server has refused. */
  code?: number;
  /** Milliseconds that the server wants to be left alone (Retry-After). */
  after?: number;
}

/** Answers that another attempt may not get: Request Timeout, Too Early, Too Many Requests. */
const passing = [408, 425, 429];

/** Explains an answer other than 200 (RFC 9110, 15; Retry-After: 10.2.3). */
function refused({ status, headers }: Response, o: Options): Failure {
  const renewed = status === 401 && typeof o.headers === "function"; // which may bring a new token
  const message = `the server has answered ${status}`;
  if (status === 204 || (status >= 400 && status < 500 && !passing.includes(status) && !renewed)) return fatal(message, status);
  const field = headers.get("Retry-After") ?? "0";
  const after = +field >= 0 ? +field * 1000 : Date.parse(field) - Date.now();
  return Object.assign(new Error(message), { code: status, after: after > 0 ? after : 0 });
}

/** Streams by fetch, which can send fields and sees heartbeats. It returns at the end of the response. */
export async function viaFetch({ url, o, last, signal, open, bytes }: Attempt): Promise<void> {
  const headers = new Headers(await (typeof o.headers === "function" ? o.headers() : o.headers));
  const [type] = formats[o.format ?? "sse"];
  headers.set("Accept", type);
  // In UTF-8, as an EventSource does. A field holds no control characters, and no spaces at its ends.
  if (!/[\0-\x1f\x7f]|^ | $|^$/.test(last)) headers.set("Last-Event-ID", String.fromCharCode(...new TextEncoder().encode(last)));
  else if (last) url.searchParams.set("last_event_id", last);
  const response = await (o.fetch ?? fetch)(url, { headers, signal, cache: "no-store", credentials: o.credentials ?? "same-origin" });
  if (response.status !== 200) throw refused(response, o);
  const got = response.headers.get("Content-Type") ?? "nothing";
  // Not fatal: the login page of a hotel's network goes away.
  if (got.split(";")[0]!.trim().toLowerCase() !== type) throw new Error(`the server has sent ${got} instead of ${type}: check the URL`);
  open();
  const reader = response.body!.getReader();
  for (let part; !(part = await reader.read()).done; ) bytes(part.value);
}

/**
 * Uses an EventSource, for browsers whose fetch cannot stream. It sends no fields, hides heartbeats, topics and the reason of
 * a failure, and has to know the types of events. Its own reconnection is not used: it has neither jitter nor backoff.
 */
export function viaEventSource({ url, o, last, signal, wire, open }: Attempt): Promise<void> {
  return new Promise((_, no) => {
    if (last) url.searchParams.set("last_event_id", last);
    const source = new EventSource(url, { withCredentials: o.credentials === "include" });
    const [topic = "", more] = o.topics ?? [];
    const fixed = more || topic.includes("*") ? "" : topic;
    let id = ""; // an event without an ID repeats the previous one's, and knows nothing of the source before
    const take = ({ lastEventId: now, type, data }: MessageEvent<string>) => {
      if (id && !now) wire.event(["", "", position, ""]);
      const own = now === (id || last) ? "" : now;
      id = now;
      wire.event([fixed, own, type === "message" ? "" : type, data]);
    };
    for (const type of ["message", `${reserved}gap`, `${reserved}bye`, ...(o.types ?? [])]) source.addEventListener(type, take);
    source.onopen = open;
    source.onerror = () => no(new Error("the connection has failed"));
    signal.addEventListener("abort", () => source.close());
  });
}
