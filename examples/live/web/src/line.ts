// The connection: its state, its figures, and its story.

import type { Gap, PushEvent, Status } from "@redline-go/push";
import { clock, curve, find, make } from "./page";

/** Lines of the story that stay. */
const most = 40;
/** Seconds of the small curve. */
const seconds = 60;
/** Delays that the median is of. */
const delays = 101;

const why: Record<string, string> = {
  shutdown: "the server is shutting down",
  lifetime: "the connection was old",
  slow: "this page was too slow",
  memory: "the server is short of memory",
  limit: "the server has no place for more",
  broker: "the server has not reached its broker",
};

const cause: Record<string, string> = {
  history: "the server no longer has them",
  epoch: "the server has restarted",
  slow: "this page was too slow",
  broker: "the broker was lost",
  "unknown-id": "the server does not know where this page was",
};

/** Shows the connection. The result has a function for each kind of news. */
export function line() {
  const pill = find("status");
  const story = find("story");
  const path = document.querySelector("#pulse path")!;
  const show = (id: string, text: string) => (find(id).textContent = text);
  const rates: number[] = [];
  const late: number[] = [];
  let count = 0, before = 0, again = 0, gaps = 0, opened = false, unsure = false, down = "";

  const tell = (text: string, kind = "") => {
    const item = make("li", kind);
    item.append(make("time", "", clock(Date.now())), make("span", "", text));
    story.prepend(item);
    if (story.childElementCount > most) story.lastElementChild!.remove();
  };

  setInterval(() => {
    rates.push(count - before);
    before = count;
    if (rates.length > seconds) rates.shift();
    show("rate", `${rates.at(-1)}`);
    show("count", count.toLocaleString("en"));
    path.setAttribute("d", curve(rates, 60, 18, 0, Math.max(...rates, 1)));
    const sorted = late.toSorted((a, b) => a - b);
    const median = sorted[sorted.length >> 1];
    // Clocks of different machines differ: a delay below zero says nothing.
    show("delay", median === undefined || median < 0 ? "–" : `${median} ms`);
  }, 1000);

  return {
    event(event: PushEvent) {
      count++;
      if (unsure) tell("It continued where it was: nothing is missing.", "good"); // a gap would have come before
      unsure = false;
      const { at } = event.json<{ at?: number }>();
      if (typeof at !== "number") return;
      late.push(Date.now() - at);
      if (late.length > delays) late.shift();
    },
    gap({ dropped, reason }: Gap) {
      unsure = false;
      show("gaps", `${++gaps}`);
      const many = dropped ? `${dropped.toLocaleString("en")} events are missing` : "Events may be missing";
      tell(`${many}: ${cause[reason] ?? reason}.`, "bad");
    },
    status({ state, delay = 0, reason = "" }: Status) {
      pill.dataset.state = state;
      pill.textContent = {
        connecting: opened ? "Reconnecting" : "Connecting",
        open: "Live",
        waiting: `Next attempt in ${delay < 950 ? "a moment" : `${Math.round(delay / 1000)} s`}`,
        closed: "Closed",
      }[state];
      const text = why[reason] ?? reason;
      if (state === "open") {
        if (opened) show("again", `${++again}`);
        tell(opened ? "Connected again." : "Connected.", "good");
        unsure = opened;
        opened = true;
        down = "";
      } else if (state === "closed") {
        tell(`Closed: ${text}. Load the page again to retry.`, "bad");
      } else if (state === "waiting" && text !== down) {
        tell(`${opened ? "Disconnected" : "Not connected"}: ${text}.`, "bad");
        down = text; // once for each reason, not for each attempt
      }
    },
  };
}
