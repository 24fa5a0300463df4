// Subscriptions of a component, one after the other, whose topics change.

import assert from "node:assert/strict";
import { test } from "node:test";
import { chain } from "../dist/chain.js";
import { started } from "./helpers.mjs";

test("a subscription continues where the one before was, or where it is told to", async (t) => {
  const hub = await started(t);
  for (const topic of ["a", "a", "b"]) hub.publish({ topic, data: "x" });
  const begin = chain();
  let end = () => {};
  t.after(() => end());

  /** Subscribes, and waits for n events; the result is the position of the request and the IDs. */
  const have = async (path, options, n) => {
    const ids = [];
    end();
    const before = hub.requests.length;
    await new Promise((done) => {
      end = begin(`${hub.url}${path}`, {
        ...options,
        onEvent: (e) => ids.push(e.id) === n && done(),
        onStatus: (s) => s.state === "open" && !n && done(),
        fetch: (url, init) => fetch(new URL(`/events${url.search}`, url), init), // the hub has one path
      });
    });
    return [hub.requests[before].headers["last-event-id"], ids];
  };

  assert.deepEqual(await have("/events", { topics: ["a"], lastEventId: "1-1" }, 1), ["1-1", ["1-2"]]);
  assert.deepEqual(await have("/events", { topics: ["b"], lastEventId: "1-1" }, 1), ["1-2", ["1-3"]], "other topics");
  assert.deepEqual(await have("/events?x=1", { lastEventId: "1-1" }, 0), ["1-3", []], "another query");
  assert.deepEqual(await have("/events", { lastEventId: "1-2" }, 1), ["1-2", ["1-3"]], "a position that is told");
  assert.deepEqual(await have("/other", { lastEventId: "1-2" }, 1), ["1-2", ["1-3"]], "another hub");
  assert.deepEqual(await have("/other", {}, 0), [undefined, []], "from now on");
});
