// The dashboard: one subscription, three parts of the page that use its events.

import { subscribe } from "@redline-go/push";
import { chat } from "./chat";
import { line } from "./line";
import { find } from "./page";
import { prices } from "./prices";
import { theme } from "./theme";
import { who } from "./who";

theme(find<HTMLButtonElement>("theme"));
const connection = line();
const price = prices();
const there = who();
const talk = chat(() => {
  const last = subscription.lastEventId;
  subscription.close();
  there.away();
  subscription = listen(last); // under the new name
});

const listen = (lastEventId: string) => subscribe(`events?presence=1&name=${encodeURIComponent(talk.name())}`, {
  topics: ["prices/*", "chat"],
  lastEventId,
  onEvent(event) {
    if (event.type.startsWith("hub:")) return there.take(event);
    connection.event(event);
    if (event.topic === "chat") talk.take(event);
    else price(event);
  },
  onGap(gap) {
    connection.gap(gap);
    talk.load();
  },
  onStatus(status) {
    connection.status(status);
    if (status.state === "open") talk.load();
    else there.away();
  },
});
let subscription = listen("earliest"); // the curves begin with what the server holds
