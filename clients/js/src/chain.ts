// Subscriptions of a component, one after the other.

import { type Options, subscribe } from "./index.js";

/**
 * Returns a function that subscribes, whose result ends the subscription. A later subscription continues where the one before
 * has ended, so that a change of topics loses nothing and repeats nothing. It begins at options.lastEventId if that, or the
 * URL without its query, is not what the one before was given: the position of one hub says nothing to another.
 */
export function chain(): (url: string, options: Options) => () => void {
  let before: { path: string | undefined; given: string | undefined; last: string } | undefined;
  return (url, options) => {
    const [path] = url.split("?");
    const given = options.lastEventId;
    const lastEventId = (before?.path === path && before?.given === given ? before?.last : given) ?? "";
    const subscription = subscribe(url, { ...options, lastEventId });
    return () => {
      before = { path, given, last: subscription.lastEventId };
      subscription.close();
    };
  };
}
