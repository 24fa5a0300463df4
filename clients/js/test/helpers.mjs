// Helpers of the tests: subscriptions that write down what happens to them.

import { EventEmitter, once } from "node:events";
import { subscribe } from "../dist/index.js";
import { Hub } from "./hub.mjs";

/** Starts a hub that ends with the test. */
export async function started(t, options) {
  const hub = new Hub(options);
  await hub.listen();
  t.after(() => hub.kill());
  return hub;
}

/** Subscribes until the end of the test. The log has "open", "waiting", "closed", events' texts, and gaps. */
export function listen(t, url, options = {}) {
  const news = new EventEmitter();
  const log = [], statuses = [], events = [], gaps = [];
  const add = (list, value, line) => {
    list.push(value);
    log.push(line);
    news.emit("news");
  };
  const subscription = subscribe(url, {
    retry: 1,
    ...options,
    onEvent(e) {
      add(events, e, e.text());
      options.onEvent?.(e);
    },
    onGap: (g) => add(gaps, g, `gap ${g.reason}`),
    onStatus(s) {
      add(statuses, s, s.state);
      options.onStatus?.(s);
    },
  });
  t.after(() => subscription.close());
  return {
    subscription, log, statuses, events, gaps,
    /** Waits until the condition holds; it is looked at after every call. */
    async until(condition) {
      while (!condition()) await once(news, "news");
    },
    state: () => subscription.status.state,
    /** Waits until the subscription has a state. */
    async has(state) {
      while (subscription.status.state !== state) await once(news, "news");
    },
  };
}
