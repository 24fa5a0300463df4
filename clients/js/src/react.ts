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
  const key = JSON.stringify([url, options.topics, options.format, options.share]);
  const first: Status = { state: url === null ? "closed" : "connecting" };
  const [known, set] = useState({ key, status: first });
  const [begin] = useState(chain);
  const latest = useRef(options);
  useEffect(() => {
    latest.current = options;
  });
  useEffect(() => {
    const tell = (status: Status) => set({ key, status });
    tell(first);
    if (url === null) return;
    return begin(url, {
      ...latest.current,
      onEvent: (e) => latest.current.onEvent?.(e),
      onGap: (g) => latest.current.onGap?.(g),
      onStatus: (s) => {
        tell(s);
        latest.current.onStatus?.(s);
      },
    });
  }, [key]);
  return known.key === key ? known.status : first; // not what the subscription before was
}
