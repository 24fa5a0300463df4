// Opens pages of generated traces in Chromium, from files, and uses them.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ink, overflow, shots, start } from "./browser.mjs";

let session;
const at = {};

before(async () => {
  session = await start();
  for (const kind of ["usual", "nothing", "many", "hostile"]) at[kind] = session.made(kind, "./trace/page/internal/gen", kind);
});

after(() => session?.stop());

for (const kind of ["usual", "many"]) {
  for (const [scheme, width] of [["light", 1400], ["dark", 400]]) {
    test(`draws ${kind} in ${scheme} at ${width}`, async () => {
      const { page, close } = await session.open({ scheme, width, at: at[kind] });
      const lanes = await page.locator("[data-gmp]").evaluate(ink);
      assert.ok(lanes.n > 5000 && lanes.colours > 4, `lanes: ${JSON.stringify(lanes)}`);
      for (const plot of ["ps", "ready", "threads", "goroutines"]) {
        const paths = await page.locator(`[data-plot=${plot}] svg path`).count();
        assert.ok(paths > 5, `${plot} has ${paths} paths`);
      }
      const bars = await page.locator("[data-slow] svg").evaluateAll((all) => all.map((s) => s.querySelectorAll("rect").length));
      assert.ok(bars.length > 0 && bars.every((n) => n > 3), `bars of ${bars} pieces`);
      assert.equal(await overflow(page), 0);
      if (shots) await page.screenshot({ path: join(shots, `trace-${kind}-${scheme}-${width}.png`), fullPage: true });
      await close();
    });
  }
}

test("the lanes zoom by buttons, keys and wheel, and show what is under the pointer", async () => {
  const { page, close } = await session.open({ at: at.usual });
  const area = page.locator("[data-gmp]");
  const picture = () => area.locator("canvas").evaluate((c) => c.toDataURL());
  const all = await picture();
  await page.getByRole("button", { name: "Zoom in" }).click();
  const zoomed = await picture();
  assert.notEqual(zoomed, all);
  await page.getByRole("button", { name: "Show the whole window" }).click();
  assert.equal(await picture(), all);
  await area.focus();
  await page.keyboard.press("+");
  assert.equal(await picture(), zoomed);
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await picture(), zoomed);
  await page.keyboard.press("0");
  const box = await area.boundingBox();
  await page.mouse.move(box.x + 60, box.y + 30);
  for (let i = 0; i < 12; i++) await page.mouse.wheel(0, -100);
  const card = page.locator(".gmp-card");
  for (let i = 0; i < 200 && !(await card.innerText()).includes("goroutine"); i++) await page.mouse.move(box.x + 60 + i * 4, box.y + 30);
  assert.match(await card.innerText(), /P 1 at .*main\.\(\*shop\)\.order.*goroutine \d+/s);
  await close();
});

test("bars of requests have the calls as titles", async () => {
  const { page, close } = await session.open({ at: at.usual });
  const titles = await page.locator("[data-slow] title").allTextContents();
  assert.ok(titles.some((t) => /blocked \(sync\) in sync\.\(\*Mutex\)\.Lock in main\.\(\*shop\)\.order/.test(t)), titles[0]);
  await close();
});

test("the theme changes the lanes, the bars and the legends", async () => {
  const { page, close } = await session.open({ at: at.usual });
  const colours = () =>
    page.evaluate(() => [
      document.querySelector("[data-gmp] canvas").toDataURL(),
      document.querySelector("[data-slow] rect").getAttribute("fill"),
      document.querySelector(".gmp-key i").style.background,
    ]);
  const light = await colours();
  await page.getByRole("button", { name: "Use the dark theme" }).click();
  (await colours()).forEach((c, i) => assert.notEqual(c, light[i]));
  await close();
});

test("downloads the report", async () => {
  const { page, close } = await session.open({ at: at.usual });
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "trace.json" }).click()]);
  assert.equal(JSON.parse(readFileSync(await download.path(), "utf8")).schema, "redline.trace/1");
  await close();
});

test("a trace without anything, and hostile text", async () => {
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

test("a slow request is shown in the lanes, and a click there shows the request", async () => {
  const { page, close } = await session.open({ at: at.usual });
  await page.locator(".to-lanes").first().click();
  const marked = page.locator(".slowest li.marked");
  assert.equal(await marked.count(), 1);
  const name = await marked.locator("b").innerText();
  const area = page.locator("[data-gmp]");
  await area.scrollIntoViewIfNeeded();
  const box = await area.boundingBox();
  let found = false;
  // Some lane has a piece of a request at some place.
  for (let y = 30; y < box.height - 110 && !found; y += 13) {
    for (let x = 60; x < box.width - 20 && !found; x += 12) {
      await page.mouse.move(box.x + x, box.y + y);
      const card = page.locator(".gmp-card");
      if (!(await card.isVisible()) || !(await card.innerText()).includes("click to see it")) continue;
      await page.mouse.click(box.x + x, box.y + y);
      found = true;
    }
  }
  assert.ok(found, `no piece of ${name} in the lanes`);
  assert.equal(await marked.count(), 1);
  await close();
});
