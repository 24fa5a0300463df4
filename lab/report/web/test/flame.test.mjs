// Opens pages with flame graphs of made-up profiles in Chromium, from files, and uses them.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ink, overflow, shots, start } from "./browser.mjs";

let session;
const at = {};

before(async () => {
  session = await start();
  for (const kind of ["cpu", "diff", "shares", "large", "hostile", "timed"]) at[kind] = session.made(kind, "./profile/flame/internal/gen", kind);
});

after(() => session?.stop());

const where = (page) => page.locator("#where").innerText();
const graph = (page) => page.locator("#graph");

/** Clicks at a share of the graph's width, in a row of the visible part. */
async function click(page, share, row) {
  const box = await page.locator("#canvas").boundingBox();
  await page.mouse.click(box.x + box.width * share, box.y + row * 20 + 10);
}

for (const kind of ["cpu", "diff", "shares", "large", "timed"]) {
  for (const [scheme, width] of [["light", 1280], ["dark", 400]]) {
    test(`draws ${kind} in ${scheme} at ${width}`, async () => {
      const { page, close } = await session.open({ scheme, width, at: at[kind] });
      const drawn = await graph(page).evaluate(ink);
      assert.ok(drawn.n > 5000 && drawn.colours > 6, JSON.stringify(drawn));
      assert.equal(await overflow(page), 0);
      if (shots) await page.screenshot({ path: join(shots, `flame-${kind}-${scheme}-${width}.png`), fullPage: kind === "cpu" });
      await close();
    });
  }
}

test("shows figures, zooms in and out with the mouse", async () => {
  const { page, close } = await session.open({ at: at.cpu });
  assert.match(await where(page), /^all: with callees 100 ns, 100\.0 %.*a request 5 ns/);
  await click(page, 0.3, 3);
  assert.match(await where(page), /^main\.order: with callees 65 ns, 65\.0 %; itself 0 ns, 0\.0 %; a request 3\.25 ns;.*code user code/);
  await click(page, 0.9, 4); // now the right part of the whole width
  assert.match(await where(page), /^github\.com\/jackc\/pgx\.Query: .*code library/);
  await click(page, 0.5, 0);
  assert.match(await where(page), /^all: /);
  await close();
});

test("moves with the keyboard", async () => {
  const { page, close } = await session.open({ at: at.cpu });
  await page.locator("#canvas").focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"]) await page.keyboard.press(key);
  assert.match(await where(page), /^main\.list: /);
  await page.keyboard.press("ArrowLeft");
  assert.match(await where(page), /^main\.order: /);
  await page.keyboard.press("Enter");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Home");
  assert.match(await where(page), /^all: /);
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "search");
  await close();
});

test("searches by text and by regular expression", async () => {
  const { page, close } = await session.open({ at: at.cpu });
  const matched = () => page.locator("#matched").innerText();
  await page.fill("#search", "json");
  assert.equal(await matched(), "1 function, 40.0 %");
  await page.fill("#search", "^main\\.(order|list)$");
  assert.equal(await matched(), "2 functions, 80.0 %");
  await page.fill("#search", "(*conn");
  assert.equal(await matched(), "1 function, 80.0 %");
  await page.click("#reset");
  assert.equal(await matched(), "");
  await close();
});

test("turns the graph", async () => {
  const { page, close } = await session.open({ at: at.large });
  const top = () => graph(page).evaluate((e) => e.scrollTop);
  assert.equal(await top(), 0);
  await page.click("#turn");
  await page.waitForFunction(() => document.querySelector("#graph").scrollTop > 1000);
  const box = await graph(page).boundingBox();
  await page.mouse.click(box.x + 50, box.y + box.height - 10);
  assert.match(await where(page), /^all: /);
  await close();
});

test("a difference says what a request costs more or less", async () => {
  const { page, close } = await session.open({ at: at.diff });
  assert.match(await where(page), /^all: a request, before 5 ns; after 3\.35 ns; change -1\.65 ns \(-33 %\)/);
  assert.match(await page.locator("#legend").innerText(), /▼ less a request.*unchanged.*▲ more a request/s);
  await close();
  const shares = await session.open({ at: at.shares });
  assert.match(await where(shares.page), /share before 100\.0 %; after 100\.0 %; change 0\.00 points/);
  await shares.close();
});

test("a pointer shows a card", async () => {
  const { page, close } = await session.open({ at: at.cpu });
  const box = await page.locator("#canvas").boundingBox();
  await page.mouse.move(box.x + 40, box.y + 3 * 20 + 10);
  assert.match(await page.locator("#card").innerText(), /main\.order\s+with callees\s+65 ns, 65\.0 %/);
  await page.mouse.move(box.x + 40, box.y - 200);
  assert.equal(await page.locator("#card").isHidden(), true);
  await close();
});

test("names of functions are text", async () => {
  const { page, close } = await session.open({ at: at.hostile });
  await click(page, 0.5, 2);
  assert.match(await where(page), /^<\/script><script>/);
  const box = await page.locator("#canvas").boundingBox();
  await page.mouse.move(box.x + 60, box.y + 30);
  assert.match(await page.locator("#card").innerText(), /onerror/);
  await close();
});

test("shows callers and callees of a chosen function, and the whole graph again", async () => {
  const { page, close } = await session.open({ at: at.cpu });
  await click(page, 0.3, 3); // main.order
  await page.locator("#sandwich").click();
  assert.match(await page.locator("#chosen").innerText(), /^main\.order: with callees 65 ns, 65\.0 %/);
  assert.equal(await page.locator("#canvas").isVisible(), false);
  for (const half of ["#callers", "#callees"]) {
    const drawn = await page.locator(half).evaluate(ink);
    assert.ok(drawn.n > 500, `${half}: ${JSON.stringify(drawn)}`);
  }
  const callers = await page.locator("#callers canvas").boundingBox();
  await page.mouse.click(callers.x + 40, callers.y + callers.height - 30); // the caller, above the function
  assert.doesNotMatch(await page.locator("#chosen").innerText(), /^main\.order: /);
  await page.locator("td.name", { hasText: "main.order" }).first().click();
  assert.match(await page.locator("#chosen").innerText(), /^main\.order: /);
  await page.locator("#sandwich").click();
  assert.equal(await page.locator("#canvas").isVisible(), true);
  assert.equal(await overflow(page), 0);
  await close();
});

test("shows when a function ran, and the graph of a part of the time", async () => {
  const { page, close } = await session.open({ at: at.timed });
  const when = page.locator("#when");
  assert.match(await when.innerText(), /^What ran in 2 s, in parts of 200 ms/);
  assert.match(await where(page), /^all: with callees 100 ns, 100\.0 %/);
  const drawn = await page.locator("#times").evaluate(ink);
  assert.ok(drawn.n > 500, JSON.stringify(drawn));
  const box = await page.locator("#strip").boundingBox();
  const drag = async (from, to) => {
    await page.mouse.move(box.x + box.width * from, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * to, box.y + 20);
    await page.mouse.up();
  };
  await drag(0.82, 0.99); // the last two parts: only main.late
  assert.match(await when.innerText(), /^From 1\.60 s to 2 s: 20\.0 % of the profile/);
  assert.match(await where(page), /^all: with callees 20 ns, 100\.0 %/);
  await click(page, 0.5, 2);
  assert.match(await where(page), /^main\.late: with callees 20 ns, 100\.0 %/);
  await page.locator("#strip").focus();
  await page.keyboard.press("ArrowLeft"); // a part without main.late and one with it
  assert.match(await when.innerText(), /^From 1\.40 s to 1\.80 s/);
  await page.keyboard.press("Shift+ArrowLeft");
  assert.match(await when.innerText(), /^From 1\.40 s to 1\.60 s/);
  assert.match(await where(page), /^main\.late: with callees 0 ns, 0\.0 %/);
  await page.keyboard.press("Escape");
  assert.match(await when.innerText(), /^What ran in 2 s/);
  assert.match(await where(page), /^main\.late: with callees 20 ns, 20\.0 %/);
  assert.equal(await overflow(page), 0);
  if (shots) await page.screenshot({ path: join(shots, "flame-timed.png") });
  await close();
  const other = await session.open({ at: at.cpu });
  assert.equal(await other.page.locator("#times").count(), 0);
  await other.close();
});
