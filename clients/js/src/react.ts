// The hook for React.

import { useEffect, useRef, useState } from "react";
import { chain } from "./chain.js";
import type { Options, Status } from "./index.js";

/**
 * Subscribes while the component is mounted, and returns the status. The callbacks may change with every render. A change
 * of the URL or of topics, format or share makes a new subscription; other options are read when one begins. It continues
 * where the one before was, unless the path of the URL or `lastEventId` has changed. `url` null subscribes to nothing: the
 * state is `closed`.
 */
export function usePush(url: string | null, options: Options = {}): Status {
  const [status, set] = useState<Status>({ state: url === null ? "closed" : "connecting" });
  const [begin] = useState(chain);
  const latest = useRef(options);
  useEffect(() => {
    latest.current = options;
  });
  useEffect(() => {
    set({ state: url === null ? "closed" : "connecting" });
    if (url === null) return;
    return begin(url, {
      ...latest.current,
      onEvent: (e) => latest.current.onEvent?.(e),
      onGap: (g) => latest.current.onGap?.(g),
      onStatus: (s) => {
        set(s);
        latest.current.onStatus?.(s);
      },
    });
  }, [url, JSON.stringify([options.topics, options.format, options.share])]);
  return status;
}
