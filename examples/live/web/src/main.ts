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
const said = chat();

subscribe("events", {
  topics: ["prices/*", "chat"],
  share: true,
  onEvent(event) {
    connection.event(event);
    if (event.topic === "chat") said(event);
    else price(event);
  },
  onGap: connection.gap,
  onStatus: connection.status,
});
