// The store for Svelte.

import { readable, type Readable } from "svelte/store";
import { type Options, type Status, subscribe } from "./index.js";

/**
 * Returns a store of the status. The subscription to the hub lives while the store has subscribers: `$status` in a component
 * begins it, and the end of the component ends it. A store that is used again continues after the last event.
 */
export function push(url: string, options: Options = {}): Readable<Status> {
  let last = options.lastEventId;
  return readable<Status>({ state: "connecting" }, (set) => {
    const subscription = subscribe(url, {
      ...options,
      ...(last !== undefined && { lastEventId: last }),
      onStatus(s) {
        set(s);
        options.onStatus?.(s);
      },
    });
    return () => {
      last = subscription.lastEventId;
      subscription.close();
    };
  });
}
