// The page of examples/live in Chromium, as it is in its dist. Set LIVE_SHOTS to a directory to keep screenshots.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { patience, start, wait } from "./browser.mjs";
import { market } from "./market.mjs";

const shots = process.env.LIVE_SHOTS;
let session;
before(async () => {
  session = await start();
});
after(() => session?.stop());

/** Opens the page of a market that stands still until the test ticks. */
async function opened(t, { scheme = "light", width = 1280, height = 860 } = {}) {
  const m = await market();
  t.after(() => m.stop());
  const context = await session.browser.newContext({ colorScheme: scheme, viewport: { width, height } });
  t.after(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  const wrong = [], requests = [];
  page.on("pageerror", (e) => wrong.push(String(e)));
  page.on("request", (r) => requests.push(r.url()));
  t.after(() => {
    assert.deepEqual(wrong, []);
    assert.deepEqual(requests.filter((r) => !r.startsWith(m.hub.url) && !r.startsWith("data:")), [], "the page loads from its server only");
  });
  await page.goto(m.hub.url);
  await m.hub.until((h) => h.subscribers === 1);
  for (let i = 0; i < m.symbols * 20; i++) m.tick(i % m.symbols);
  // A tile is in the page before a frame draws its text and its curve.
  const drawn = (n) => {
    const curves = [...document.querySelectorAll(".tile path.line")].map((path) => path.getAttribute("d") ?? "");
    return curves.length === n && curves.every((d) => d.split("L").length === 20);
  };
  await wait(page, drawn, m.symbols);
  const story = (text) => wait(page, (text) => document.querySelector("#story").textContent.includes(text), text);
  return { m, page, story };
}

for (const [scheme, width, height] of [["light", 1400, 860], ["dark", 1400, 860], ["light", 390, 844], ["dark", 390, 844], ["dark", 320, 600]]) {
  test(`fits ${width} in ${scheme}`, async (t) => {
    const { m, page, story } = await opened(t, { scheme, width, height });
    for (let i = 0; i < 3; i++) m.say("Ada", "A message that is long enough to be wrapped on a telephone, and with_a_word_that_is_longer_than_the_line_itself_is");
    await page.waitForSelector("#messages li:nth-child(3)");
    await story("Connected.");
    const overflow = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;
    assert.equal(await page.evaluate(overflow), 0, await page.evaluate(() => [...document.querySelectorAll("*")].filter((e) => e.getBoundingClientRect().right > innerWidth).map((e) => e.outerHTML.slice(0, 80)).join("\n")));
    m.hub.publish({ topic: "prices/ZERO", type: "price", data: '{"name":"Zero","price":12412.34,"open":300}' });
    await wait(page, () => document.querySelector(".tile:last-child .change").textContent === "▲ 4037.45 %");
    const outside = await page.evaluate(() => [...document.querySelectorAll(".figures *")].filter((e) => e.getBoundingClientRect().right > e.closest(".tile").getBoundingClientRect().right - 5).map((e) => e.outerHTML));
    assert.deepEqual(outside, [], "figures that their tile cuts off");
    const cut = await page.evaluate(() => [...document.querySelectorAll(".tile strong, .change, button, dt, dd")].filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline").map((e) => e.outerHTML));
    assert.deepEqual(cut, []);
    const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(dark, scheme === "dark" ? "rgb(20, 19, 18)" : "rgb(251, 250, 247)");
    if (shots) await page.screenshot({ path: join(shots, `live-${scheme}-${width}.png`), fullPage: width < 900 });
  });
}

test("prices move, in colour and in words", async (t) => {
  const { m, page } = await opened(t);
  const tile = page.locator(".tile").first();
  assert.match(await tile.innerText(), /^AERO\s+Aero Dynamics\s+\d+\.\d\d\s+[▲▼•] \d+\.\d\d %$/);
  assert.match(await tile.locator("path").nth(1).getAttribute("d"), /^M0.0 [\d.]+(L[\d.]+ [\d.]+){19}$/);
  const text = await tile.innerText();
  while ((await tile.innerText()) === text) m.tick(0);
  m.hub.publish({ topic: "prices/ZERO", type: "price", data: '{"name":"Zero","price":5,"open":4}' });
  await wait(page, () => { const tile = document.querySelector(".tile:last-child"); return tile?.textContent.startsWith("ZERO") && tile.dataset.trend === "up"; });
});

test("what is said is sent, comes back, and stays text", async (t) => {
  const { m, page } = await opened(t);
  await page.fill("#name", "Grace");
  await page.fill("#text", "<img src=x onerror='window.pwned=1'>");
  await page.keyboard.press("Enter");
  const own = page.locator("#messages li.own");
  await own.waitFor();
  assert.match(await own.innerText(), /^Grace\s+\d\d:\d\d\s+<img src=x onerror='window.pwned=1'>$/);
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  assert.equal(await page.inputValue("#text"), "");
  await page.fill("#text", "/refuse");
  await page.keyboard.press("Enter");
  await wait(page, () => document.querySelector("#refused").textContent === "Not sent: slow down: one message a second");
  assert.equal(await page.inputValue("#text"), "/refuse", "what was not sent is kept");
  for (let i = 0; i < 300; i++) m.say("flood", `${i}`);
  await wait(page, () => document.querySelector("#messages").lastElementChild.textContent.endsWith("299"));
  assert.equal(await page.locator("#messages li").count(), 200);
});

test("a new page gets what was said before, once, and what it has missed", async (t) => {
  const { m, page } = await opened(t);
  const has = (...want) => wait(page, (want) => [...document.querySelectorAll("#messages p")].map((p) => p.textContent).join() === want, want.join());
  m.say("Ada", "1");
  await has("1");
  await m.hub.kill();
  m.hub.history.length = 0; // so that the server cannot continue
  m.say("Ada", "2");
  m.hub.history.length = 0;
  await m.hub.listen();
  await has("1", "2");
  m.say("Ada", "3");
  await has("1", "2", "3");
  await page.reload();
  await has("1", "2", "3");
  m.say("Ada", "4");
  await has("1", "2", "3", "4");
});

test("who is there is told while there is a connection, and goes with the name", async (t) => {
  const { m, page } = await opened(t);
  const says = (want) => wait(page, (want) => document.querySelector("#here").textContent === want, want);
  const named = (name) => m.hub.requests.at(-1).url.searchParams.get("name") === name;
  m.hub.tell("here", { users: ["Ada", "<b>"], here: 2 });
  await says("2 names here: <b>, Ada");
  m.hub.tell("join", { users: ["Bob"], more: 40, here: 43 });
  await says("43 names here: <b>, Ada, Bob, …");
  m.hub.tell("leave", { users: ["Ada", "<b>"], more: 40, here: 1 });
  await says("1 name here: Bob");
  await page.fill("#name", "Grace");
  await page.press("#name", "Tab");
  await m.hub.until((h) => h.subscribers === 1 && named("Grace"));
  await says("");
  m.hub.tell("here", { users: ["Grace"], here: 1 });
  await says("1 name here: Grace");
  await m.hub.kill();
  await says("");
});

test("the connection tells its story", async (t) => {
  const { m, page, story } = await opened(t);
  await wait(page, () => document.querySelector("#status").textContent === "Live");
  await m.hub.kill();
  await story("Disconnected: ");
  await m.hub.listen();
  await story("Connected again.");
  const told = () => page.locator("#story").innerText();
  assert.doesNotMatch(await told(), /continued|missing/, "nobody knows yet");
  m.tick();
  await story("continued where it was");
  assert.equal(await page.textContent("#again"), "1");
  assert.equal(await page.textContent("#gaps"), "0");
  m.hub.answers.push({ reason: "limit" }, { reason: "broker" });
  m.hub.cut();
  await story("Disconnected: the server has no place for more.");
  await story("Disconnected: the server has not reached its broker.");
  await wait(page, () => document.querySelector("#again").textContent === "2");
  m.tick();
  await wait(page, () => document.querySelector("#story").textContent.match(/continued/g).length === 2);
  assert.equal((await told()).match(/Connected again/g).length, 2, "being turned away is no connection");
  await m.hub.kill({ forget: true });
  m.tick();
  await m.hub.listen();
  await story("Events may be missing: the server has restarted.");
  assert.equal((await told()).match(/continued/g).length, 2, "the third time it did not");
  assert.equal(await page.textContent("#gaps"), "1");
  m.hub.answers.push({ status: 403 });
  m.hub.cut();
  await story("Closed: the server has answered 403.");
  assert.equal(await page.textContent("#status"), "Closed");
});

test("the curves of a new page begin with what the server holds", async (t) => {
  const { m, page } = await opened(t);
  await page.reload();
  await wait(page, (n) => {
    const curves = [...document.querySelectorAll(".tile path.line")].map((path) => path.getAttribute("d") ?? "");
    return curves.length === n && curves.every((d) => d.split("L").length === 20);
  }, m.symbols);
  assert.equal(await page.textContent("#gaps"), "0");
});

test("the reader's theme is kept", async (t) => {
  const { page } = await opened(t);
  await page.getByRole("button", { name: "Use the dark theme" }).click();
  await page.reload();
  await page.getByRole("button", { name: "Use the light theme" }).waitFor();
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(20, 19, 18)");
});
