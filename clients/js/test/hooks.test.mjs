// The hooks in Chromium: a component of each framework that shows the status and the last event, mounted and unmounted.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { bundle, start, wait } from "./browser.mjs";
import { started } from "./helpers.mjs";

let session;
before(async () => {
  session = await start();
});
after(() => session?.stop());

// Each page has: mount(), unmount(), and topic(name), which changes what the component subscribes to.
const pages = {
  react: `
    import { createElement as h, StrictMode, useState } from "react";
    import { createRoot } from "react-dom/client";
    import { usePush } from "../dist/react.js";
    function App() {
      const [topic, setTopic] = useState("a");
      const [seen, setSeen] = useState([]);
      const [url, setUrl] = useState("/events");
      window.url = setUrl;
      const status = usePush(url, { topics: [topic], onEvent: (e) => setSeen([...seen, topic + ":" + e.text()]) });
      window.topic = setTopic;
      (window.shown ??= []).push([url, status.state]);
      return h("p", null, status.state + " " + seen.join());
    }
    let root;
    window.mount = () => (root = createRoot(document.body)).render(h(StrictMode, null, h(App)));
    window.unmount = () => root.unmount();`,
  vue: `
    import { createApp, h, ref } from "vue";
    import { usePush } from "../dist/vue.js";
    const App = {
      setup() {
        const topic = ref("a"), seen = ref([]), url = ref("/events");
        window.url = (to) => (url.value = to);
        window.topic = (name) => (topic.value = name);
        const status = usePush(url, () => {
          const name = topic.value;
          return { topics: [name], onEvent: (e) => seen.value.push(name + ":" + e.text()) };
        });
        return () => h("p", status.value.state + " " + seen.value.join());
      },
    };
    let app;
    window.mount = () => (app = createApp(App)).mount(document.body);
    window.unmount = () => app.unmount();`,
  svelte: `
    import { push } from "../dist/svelte.js";
    let stop, state, seen = [];
    const show = () => (document.body.innerHTML = "<p>" + state + " " + seen.join() + "</p>");
    window.topic = (name) => {
      stop?.();
      const options = { topics: [name], onEvent: (e) => { seen.push(name + ":" + e.text()); show(); } };
      stop = push("/events", options).subscribe((s) => { state = s.state; show(); });
    };
    window.mount = () => window.topic("a");
    window.unmount = () => { stop(); document.body.innerHTML = ""; };`,
};

for (const [name, code] of Object.entries(pages)) {
  test(`${name}: a component subscribes, follows a change, and leaves`, async (t) => {
    const hub = await started(t);
    hub.pages.set("/", { type: "text/html", body: '<!doctype html><link rel="icon" href="data:,"><body></body><script type="module" src="/page.js"></script>' });
    hub.pages.set("/page.js", { type: "text/javascript", body: await bundle(code) });
    const silent = new Promise((asked) => hub.pages.set("/silent", asked)); // and never answers
    const page = await session.page(t);
    const wrong = [];
    page.on("pageerror", (e) => wrong.push(String(e)));
    const shows = (text) => wait(page, (text) => document.querySelector("p")?.textContent.trim() === text, text);

    await page.goto(hub.url);
    await wait(page, () => !!window.mount);
    await page.evaluate(() => window.mount());
    await shows("open");
    hub.publish({ topic: "a", data: "1" });
    hub.publish({ topic: "b", data: "no" });
    await shows("open a:1");
    hub.publish({ topic: "a", data: "2" });
    await shows("open a:1,a:2");

    await page.evaluate(() => window.topic("b"));
    await hub.until((h) => h.subscribers === 1 && h.requests.at(-1).url.searchParams.get("topic") === "b");
    await shows("open a:1,a:2");
    hub.publish({ topic: "a", data: "no" });
    hub.publish({ topic: "b", data: "3" });
    await shows("open a:1,a:2,b:3");

    await hub.kill();
    await wait(page, () => /^(waiting|connecting)/.test(document.querySelector("p").textContent));
    await hub.listen();
    await shows("open a:1,a:2,b:3");

    if (name !== "svelte") { // whose stores do not change what they subscribe to
      await hub.kill();
      await page.evaluate(() => window.topic("c"));
      hub.publish({ topic: "a", data: "no" });
      hub.publish({ topic: "c", data: "4" });
      await hub.listen();
      await shows("open a:1,a:2,b:3,c:4");

      await page.evaluate(() => window.url("/silent")); // where nobody answers
      await silent;
      // Not even one picture says that the new one is open.
      if (name === "react") assert.deepEqual(await page.evaluate(() => window.shown.filter(([url, state]) => url === "/silent" && state !== "connecting")), []);
      await shows("connecting a:1,a:2,b:3,c:4");
      await page.evaluate(() => window.url(null));
      await shows("closed a:1,a:2,b:3,c:4");
      if (name === "react") assert.deepEqual(await page.evaluate(() => window.shown.filter(([url, state]) => !url && state !== "closed")), []);
      await hub.until((h) => h.subscribers === 0);
      await page.evaluate(() => window.url("/events"));
      await shows("open a:1,a:2,b:3,c:4");
    }

    await page.evaluate(() => window.unmount());
    await hub.until((h) => h.subscribers === 0);
    assert.deepEqual(wrong, []);
  });
}

test("a store of Svelte that is used again continues where it was", async (t) => {
  const { push } = await import("../dist/svelte.js");
  const hub = await started(t);
  const seen = [];
  const waits = [];
  const store = push(`${hub.url}/events`, { onEvent: (e) => { seen.push(e.text()); waits.shift()?.(); } });
  const event = () => new Promise((done) => waits.push(done));
  let stop = store.subscribe(() => {});
  await hub.until((h) => h.subscribers === 1);
  let next = event();
  hub.publish({ data: "1" });
  await next;
  stop();
  await hub.until((h) => h.subscribers === 0);
  hub.publish({ data: "2" });
  next = event();
  stop = store.subscribe(() => {});
  await next;
  stop();
  assert.deepEqual(seen, ["1", "2"]);
});
