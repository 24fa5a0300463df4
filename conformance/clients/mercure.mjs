// Has a library follow an endpoint of the Mercure protocol, which ends its streams again and again: every update has to arrive once,
// and in order.
//
//   node mercure.mjs LIBRARY URL SUBSCRIBER-TOKEN PUBLISHER-TOKEN

import process from "node:process";

const [library, url, subscriber, publisher] = process.argv.slice(2);
const topic = `https://example.com/${library}/1`;
const at = `${url}?topic=${encodeURIComponent(`https://example.com/${library}/{id}`)}`;
const streams = 3; // at least
let opened = 0, next = 0, sent = 0;
const fail = (text) => {
  console.error(`${library}: ${text}`);
  process.exit(1);
};
const open = () => opened++;
const message = ({ data }) => (data === String(next) ? next++ : fail(`got ${data}, want ${next}`));
const bearer = { Authorization: `Bearer ${subscriber}` };

const libraries = {
  async "eventsource"() {
    const { EventSource } = await import("eventsource");
    const source = new EventSource(at, { fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, ...bearer } }) });
    source.onopen = open;
    source.onmessage = message;
  },
  async "event-source-polyfill"() {
    globalThis.XMLHttpRequest = function () {}; // it is asked for, and not used where fetch is
    const { EventSourcePolyfill } = (await import("event-source-polyfill")).default;
    const source = new EventSourcePolyfill(at, { headers: bearer });
    source.onopen = open;
    source.onmessage = message;
  },
  async "fetch-event-source"() {
    globalThis.window = globalThis; // it is for browsers
    globalThis.document = { hidden: false, addEventListener() {}, removeEventListener() {} };
    const { fetchEventSource } = await import("@microsoft/fetch-event-source");
    const headers = { cookie: `mercureAuthorization=${subscriber}` };
    const onclose = () => {
      throw new Error("again"); // it takes the end of a stream as the end
    };
    fetchEventSource(at, { headers, onopen: open, onmessage: (m) => m.data && message(m), onclose }).catch((error) => fail(error));
  },
};

async function publish() {
  const body = new URLSearchParams({ topic, data: sent, private: "on" });
  const response = await fetch(url, { method: "POST", body, headers: { Authorization: `Bearer ${publisher}` } });
  if (!response.ok) fail(`publish: ${response.status} ${await response.text()}`);
  sent++;
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
await libraries[library]();
while (opened === 0) await pause(5);
while (opened < streams || sent < 50) {
  await publish();
  await pause(20);
}
while (next < sent) await pause(5);
console.log(`${library}: ${sent} updates by ${opened} streams`);
process.exit(0);
