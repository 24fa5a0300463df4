// Opens pages of invented load runs in Chromium, from files, and uses them.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ink, overflow, shots, start } from "./browser.mjs";

/** The charts of each kind of run. */
const kinds = {
  closed: ["rate", "errors", "times", "disturbance", "flight", "cpu", "rss", "latency", "heat"],
  open: ["rate", "errors", "times", "disturbance", "waiting", "flight", "cpu", "rss", "latency", "heat"],
  stream: ["rate", "errors", "times", "disturbance", "standing", "gap", "missed", "cpu", "rss", "latency", "heat"],
  scenario: ["rate", "errors", "times", "disturbance", "targetrate", "targettimes", "flight", "cpu", "rss", "latency", "heat"],
  workers: ["rate", "errors", "times", "disturbance", "flight", "cpu", "rss", "goroutines", "heap", "gc", "sched", "latency", "heat"],
  bare: ["rate", "errors", "times", "flight", "cpu", "latency", "heat"],
  find: ["rate", "errors", "times", "disturbance", "waiting", "flight", "cpu", "rss", "latency", "heat"],
};

let session;
const at = {};

before(async () => {
  session = await start();
  for (const kind of Object.keys(kinds)) at[kind] = session.made(kind, "./load/page/internal/gen", kind);
  at.nothing = session.made("nothing", "./load/page/internal/gen", "nothing");
  at.hostile = session.made("hostile", "./load/page/internal/gen", "-hostile", "workers");
});

after(() => session?.stop());

for (const [kind, plots] of Object.entries(kinds)) {
  for (const [scheme, width] of [["light", 1400], ["dark", 400]]) {
    test(`draws ${kind} in ${scheme} at ${width}`, async () => {
      const { page, close } = await session.open({ scheme, width, at: at[kind] });
      const shown = await page.locator("[data-plot]").evaluateAll((all) => all.map((e) => e.dataset.plot));
      assert.deepEqual(shown, plots);
      for (const plot of plots.filter((p) => p !== "heat")) {
        const paths = await page.locator(`[data-plot=${plot}] svg path`).count();
        assert.ok(paths > 5, `${plot} has ${paths} paths`);
      }
      const heat = await page.locator("[data-plot=heat]").evaluate(ink);
      assert.ok(heat.n > 5000 && heat.colours > 6, `heat map: ${JSON.stringify(heat)}`);
      assert.match(await page.locator(".shades").innerText(), /(request|event)s in a cell\s*1\s*\d+/);
      assert.equal(await overflow(page), 0);
      if (shots) await page.screenshot({ path: join(shots, `run-${kind}-${scheme}-${width}.png`), fullPage: true });
      await close();
    });
  }
}

test("the verdict comes first, in the colour of its kind", async () => {
  for (const [kind, word] of [["closed", "VALID"], ["stream", "INVALID"]]) {
    const { page, close } = await session.open({ at: at[kind] });
    const first = page.locator(".verdict strong").first();
    assert.equal(await first.innerText(), word);
    const box = await first.boundingBox();
    assert.ok(box.y < 300, `${word} is ${box.y} pixels down`);
    await close();
  }
});

test("lines can be hidden, and their axis is in seconds", async () => {
  const { page, close } = await session.open({ at: at.open });
  const figure = page.locator("figure", { has: page.locator("[data-plot=times]") });
  const lines = () => figure.locator("svg path[fill=none][stroke-linejoin=bevel]").count();
  const before = await lines();
  const button = figure.getByRole("button", { name: "p95" });
  await button.click();
  assert.equal(await button.getAttribute("aria-pressed"), "false");
  assert.ok((await lines()) < before);
  await button.click();
  assert.equal(await lines(), before);
  assert.match(await page.locator("[data-plot=rate] svg").innerHTML(), />0 s<.*>10 s<|>2 s<.*>4 s</s);
  await close();
});

test("tooltips show time and figures", async () => {
  const { page, close } = await session.open({ at: at.open });
  for (const [plot, pattern] of [
    ["rate", /\d to [\d.]+ s.*achieved.*asked for.*\/s/s],
    ["times", /p50.*p95.*p99.*(µs|ms)/s],
    ["waiting", /waiting/],
    ["cpu", /server.*generator/s],
    ["latency", /^p\d.*response.*service/s],
    ["heat", /\d s\s.* to .*requests/s],
  ]) {
    const area = page.locator(`[data-plot=${plot}]`);
    await area.scrollIntoViewIfNeeded();
    const box = await area.boundingBox();
    // In one reading: the chart replaces the card when it likes. One that is hidden has no text.
    const read = (area) => {
      const card = area.querySelector(".card");
      return card?.checkVisibility({ visibilityProperty: true }) ? card.innerText : "";
    };
    // A heat map has gaps: search along a line for a cell.
    let text = "";
    for (let i = 0; i < 30 && !pattern.test(text); i++) {
      await page.mouse.move(box.x + box.width * 0.4, box.y + box.height * (0.45 + i * 0.015));
      await page.waitForTimeout(30);
      text = await area.evaluate(read);
    }
    assert.match(text, pattern);
    await page.mouse.move(2, 2);
  }
  await close();
});

test("the theme changes, and with it the legend of the heat map", async () => {
  const { page, close } = await session.open({ at: at.closed });
  const colours = () =>
    page.evaluate(() => [
      getComputedStyle(document.body).backgroundColor,
      document.querySelector(".shades i").style.background,
      document.querySelector("[data-plot=rate] svg path[stroke-width='2']").getAttribute("stroke"),
    ]);
  const light = await colours();
  await page.getByRole("button", { name: "Use the dark theme" }).click();
  (await colours()).forEach((c, i) => assert.notEqual(c, light[i]));
  await close();
});

test("downloads the run", async () => {
  const { page, close } = await session.open({ at: at.closed });
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "run.json" }).click()]);
  assert.equal(download.suggestedFilename(), "run.json");
  assert.equal(JSON.parse(readFileSync(await download.path(), "utf8")).schema, "redline.load");
  await close();
});

test("a run without an answer, and hostile text", async () => {
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
  const { page, close } = await session.open({ at: at.workers });
  const mute = await page.evaluate(() => {
    const named = (e) => e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.textContent.trim();
    return [...document.querySelectorAll("button, [role=img], [role=region], [role=group], section")].filter((e) => !named(e)).length;
  });
  assert.equal(mute, 0);
  assert.equal(await page.locator("h1").count(), 1);
  assert.equal(await page.locator("th:not([scope])").count(), 0);
  await close();
});
