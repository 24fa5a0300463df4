// The dashboard: one subscription, three parts of the page that use its events.

import { subscribe } from "@redline-go/push";
import { chat } from "./chat";
import { line } from "./line";
import { find } from "./page";
import { prices } from "./prices";
import { theme } from "./theme";

theme(find<HTMLButtonElement>("theme"));
const connection = line();
const price = prices();
const talk = chat();

subscribe("events", {
  topics: ["prices/*", "chat"],
  lastEventId: "earliest", // the curves begin with what the server holds
  onEvent(event) {
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
  },
});
