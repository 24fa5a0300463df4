// The hook for React.

import { useEffect, useRef, useState } from "react";
import { type Options, type Status, subscribe } from "./index.js";

/**
 * Subscribes while the component is mounted, and returns the status. The callbacks may change with every render. A change
 * of the URL or of topics, format or share makes a new subscription; other options are read when one begins. `url` null
 * subscribes to nothing.
 */
export function usePush(url: string | null, options: Options = {}): Status {
  const [status, set] = useState<Status>({ state: "connecting" });
  const latest = useRef(options);
  useEffect(() => {
    latest.current = options;
  });
  useEffect(() => {
    if (url === null) return;
    const subscription = subscribe(url, {
      ...latest.current,
      onEvent: (e) => latest.current.onEvent?.(e),
      onGap: (g) => latest.current.onGap?.(g),
      onStatus: (s) => {
        set(s);
        latest.current.onStatus?.(s);
      },
    });
    return () => subscription.close();
  }, [url, JSON.stringify([options.topics, options.format, options.share])]);
  return status;
}
