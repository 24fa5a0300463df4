// Who is there: the names under which pages listen to the chat.

import type { PushEvent } from "@redline-go/push";
import { find } from "./page";

/** The payload of an event of presence. */
interface Presence {
  users: string[];
  /** How many names there are. The events do not tell all of them if they are many. */
  here: number;
}

/** Names that are shown. */
const most = 12;

/** Shows who is there. The result takes events of presence. */
export function who() {
  const line = find("here");
  const names = new Set<string>();
  return {
    take(event: PushEvent) {
      const { users, here } = event.json<Presence>();
      if (event.type === "hub:here") names.clear();
      for (const name of users) event.type === "hub:leave" ? names.delete(name) : names.add(name);
      const shown = [...names].sort().slice(0, Math.min(most, here));
      line.textContent = `${here} ${here === 1 ? "name" : "names"} here: ${shown.join(", ")}${here > shown.length ? ", …" : ""}`;
    },
    /** Nobody knows: there is no connection. */
    away() {
      line.textContent = "";
    },
  };
}
