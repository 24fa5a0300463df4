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

/** Shows the chat. The result takes events. */
export function chat(): (event: PushEvent) => void {
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

  let first = true;
  return (event) => {
    const message = event.json<Message>();
    if (first) list.replaceChildren();
    first = false;
    const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
    const item = make("li", message.name === name.value ? "own" : "");
    const by = make("b", "", message.name);
    by.style.setProperty("--hue", `${hue(message.name)}`);
    const time = make("time", "", clock(message.at).slice(0, 5));
    item.append(by, " ", time, make("p", "", message.text));
    list.append(item);
    if (list.childElementCount > most) list.firstElementChild!.remove();
    if (atEnd || item.className === "own") list.scrollTop = list.scrollHeight;
  };
}
