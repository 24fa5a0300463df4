// Opens pages of invented watches in Chromium, from files, and uses them.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { overflow, shots, start } from "./browser.mjs";

let session;
const at = {};

before(async () => {
  session = await start();
  for (const kind of ["usual", "nothing", "long", "hostile"]) at[kind] = session.made(kind, "./watch/page/internal/gen", kind);
});

after(() => session?.stop());

for (const kind of ["usual", "long"]) {
  for (const [scheme, width] of [["light", 1400], ["dark", 1400], ["light", 400], ["dark", 400]]) {
    test(`draws ${kind} in ${scheme} at ${width}`, async () => {
      const { page, close } = await session.open({ scheme, width, at: at[kind] });
      const paths = await page.locator("[data-plot]").evaluateAll((all) => all.map((e) => e.querySelectorAll("svg path").length));
      assert.ok(paths.length > 40 && paths.every((n) => n > 3), `charts of ${paths} paths`);
      assert.equal(await overflow(page), 0);
      if (shots) await page.screenshot({ path: join(shots, `watch-${kind}-${scheme}-${width}.png`), fullPage: true });
      await close();
    });
  }
}

test("a mark that was crossed is in the charts of its figures", async () => {
  const { page, close } = await session.open({ at: at.usual });
  const of = (title) => page.locator("figure", { has: page.locator("figcaption b", { hasText: new RegExp(`^${title}$`) }) });
  assert.match(await of("Goroutines").locator("[data-plot] svg").textContent(), /goroutines-slope/);
  assert.doesNotMatch(await of("CPU").locator("[data-plot] svg").textContent(), /slope/);
  assert.ok((await page.locator("#marks td.broken").allTextContents()).includes("goroutines-slope"));
  await close();
});

test("a legend hides a line, and a card has the values of a moment", async () => {
  const { page, close } = await session.open({ at: at.usual });
  const figure = page.locator("figure").first();
  const lines = () => figure.locator("svg path[stroke-width='1.75'], svg path[stroke-width='2']").count();
  const all = await lines();
  await figure.locator(".legend button").first().click();
  assert.ok((await lines()) < all);
  await figure.locator(".legend button").first().click();
  const box = await figure.locator("[data-plot]").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  assert.match(await figure.locator(".card").innerText(), / s\n.*user/s);
  await close();
});

test("the table of figures sorts, and the document can be downloaded", async () => {
  const { page, close } = await session.open({ at: at.usual });
  await page.locator("#figures thead button", { hasText: "max" }).click();
  assert.ok((await page.locator("#figures tbody tr").count()) > 100);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "watch.json" }).click()]);
  const document = JSON.parse(readFileSync(await download.path(), "utf8"));
  assert.equal(document.end.samples, 300);
  assert.equal(document.figures.rss_bytes.length, document.axis.columns);
  await close();
});

test("a watch without anything, and hostile text", async () => {
  for (const kind of ["nothing", "hostile"]) {
    for (const width of [1400, 400]) {
      const { page, close } = await session.open({ width, at: at[kind] });
      assert.equal(await page.locator("main img, header img").count(), 0);
      assert.equal(await overflow(page), 0, `${kind} at ${width}`);
      await close();
    }
  }
});

test("is accessible to assistive technology", async () => {
  const { page, close } = await session.open({ at: at.usual });
  const mute = await page.evaluate(() => {
    const named = (e) => e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.textContent.trim();
    return [...document.querySelectorAll("button, [role=img], [role=region], [role=group], section")].filter((e) => !named(e)).length;
  });
  assert.equal(mute, 0);
  assert.equal(await page.locator("h1").count(), 1);
  await close();
});
