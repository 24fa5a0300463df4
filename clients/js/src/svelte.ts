// The store for Svelte.

import { readable, type Readable } from "svelte/store";
import { chain } from "./chain.js";
import type { Options, Status } from "./index.js";

/**
 * Returns a store of the status. The subscription to the hub lives while the store has subscribers: `$status` in a component
 * begins it, and the end of the component ends it. A store that is used again continues after the last event.
 */
export function push(url: string, options: Options = {}): Readable<Status> {
  const begin = chain();
  return readable<Status>({ state: "connecting" }, (set) => {
    set({ state: "connecting" }); // not what it was when the store was used last
    return begin(url, {
      ...options,
      onStatus(s) {
        set(s);
        options.onStatus?.(s);
      },
    });
  });
}
