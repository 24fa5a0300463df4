// The chat: what is said goes to the server by POST, and comes back as an event like everybody's.

import type { PushEvent } from "@redline-go/push";
import { clock, find, make } from "./page";

/** The payload of an event of topic chat. */
interface Message {
  name: string;
  text: string;
  /** When it was said, in milliseconds since 1970. */
  at: number;
}

/** Messages that stay on the page. */
const most = 200;
const key = "redline-live-name";

function stored(): string {
  try {
    const name = localStorage.getItem(key) ?? `guest ${Math.floor(100 + Math.random() * 900)}`;
    localStorage.setItem(key, name);
    return name;
  } catch {
    return "guest"; // storage is forbidden
  }
}

/** A hue for a name, the same on every page. */
function hue(name: string): number {
  let sum = 0;
  for (const c of name) sum = (sum * 31 + c.codePointAt(0)!) % 360;
  return sum;
}

/** What the server has kept: messages with the IDs of their events. */
type Said = { id: string; message: Message }[];

/** Shows the chat. The result takes events, and loads what was said before. renamed is called when the reader has another name. */
export function chat(renamed: () => void) {
  const list = find("messages");
  const name = find<HTMLInputElement>("name");
  const text = find<HTMLInputElement>("text");
  const refused = find("refused");
  const button = document.querySelector<HTMLButtonElement>("#say button")!;
  name.value = stored();
  name.addEventListener("change", () => {
    name.value = name.value.trim() || "guest";
    try {
      localStorage.setItem(key, name.value);
    } catch {
      // storage is forbidden: the name lasts as long as the page
    }
    renamed();
  });

  find<HTMLFormElement>("say").addEventListener("submit", async (e) => {
    e.preventDefault();
    const said = text.value.trim();
    if (!said) return;
    button.disabled = true;
    refused.textContent = "";
    try {
      const body = JSON.stringify({ name: name.value, text: said });
      const answer = await fetch("chat", { method: "POST", headers: { "Content-Type": "application/json" }, body, signal: AbortSignal.timeout(10_000) });
      if (!answer.ok) throw new Error((await answer.text()).slice(0, 200) || `The server has answered ${answer.status}.`);
      text.value = "";
    } catch (e) {
      refused.textContent = e instanceof TypeError ? "Not sent: the server cannot be reached." : `Not sent: ${(e as Error).message}`;
    }
    button.disabled = false;
    text.focus();
  });

  const shown = new Set<string>(); // IDs of the events on the page
  const show = (id: string, message: Message) => {
    if (shown.has(id)) return;
    if (!shown.size) list.replaceChildren();
    shown.add(id);
    const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
    const item = make("li", message.name === name.value ? "own" : "");
    const by = make("b", "", message.name);
    by.style.setProperty("--hue", `${hue(message.name)}`);
    const time = make("time", "", clock(message.at).slice(0, 5));
    item.append(by, " ", time, make("p", "", message.text));
    list.append(item);
    if (list.childElementCount > most) {
      list.firstElementChild!.remove();
      shown.delete(shown.values().next().value!);
    }
    if (atEnd || item.className === "own") list.scrollTop = list.scrollHeight;
  };

  let waiting: PushEvent[] | undefined; // events that come while the page loads
  return {
    name: () => name.value,
    take(event: PushEvent) {
      if (waiting) waiting.push(event);
      else show(event.id, event.json<Message>());
    },
    /** Loads what was said. Called when the connection is open, it leaves no hole: what comes meanwhile is shown after it. */
    async load() {
      if (waiting) return;
      waiting = [];
      try {
        const answer = await fetch("chat", { cache: "no-store", signal: AbortSignal.timeout(10_000) });
        if (answer.ok) for (const { id, message } of (await answer.json()) as Said) show(id, message);
      } catch {
        // without the past: the connection tells its own story
      }
      for (const event of waiting) show(event.id, event.json<Message>());
      waiting = undefined;
    },
  };
}
