// Opens the page of the invented results in Chromium, from a file, and uses it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ink, overflow, shots, start } from "./browser.mjs";

let session, browser, url;

before(async () => {
  session = await start();
  browser = session.browser;
  url = session.made("report", "./report/web/test/gen");
});

after(() => session?.stop());

const open = (how = {}) => session.open({ at: url, ...how });

for (const scheme of ["light", "dark"]) {
  for (const width of [1280, 400]) {
    test(`draws in ${scheme} at ${width}`, async () => {
      const { page, close } = await open({ scheme, width });
      for (let w = 0; w < 3; w++) {
        for (const plot of ["cpu", "latency", "rate", "rss"]) {
          const paths = await page.locator(`#w${w} [data-plot=${plot}] svg path`).count();
          assert.ok(paths > 5, `${plot} of workload ${w} has ${paths} paths`);
        }
        const heat = await page.locator(`#w${w} [data-plot=heat]`).evaluate(ink);
        assert.ok(heat.n > 5000 && heat.colours > 6, `heat map of workload ${w}: ${JSON.stringify(heat)}`);
      }
      const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.equal(paper, scheme === "dark" ? "rgb(23, 22, 20)" : "rgb(253, 252, 249)");
      assert.equal(await overflow(page), 0);
      if (shots) await page.screenshot({ path: join(shots, `report-${scheme}-${width}.png`), fullPage: true });
      for (const d of await page.locator("details").all()) await d.evaluate((e) => (e.open = true));
      assert.equal(await overflow(page), 0, "with all tables open");
      await close();
    });
  }
}

test("toggles the theme, and the charts follow", async () => {
  const { page, close } = await open({ scheme: "light" });
  const colours = () =>
    page.evaluate(() => [
      getComputedStyle(document.body).backgroundColor,
      document.querySelector("#w0 .legend line").getAttribute("stroke"),
      document.querySelector("#w0 [data-plot=latency] svg path[stroke-width='1.75']").getAttribute("stroke"),
    ]);
  const light = await colours();
  await page.getByRole("button", { name: "Use the dark theme" }).click();
  const dark = await colours();
  light.forEach((c, i) => assert.notEqual(c, dark[i]));
  await page.getByRole("button", { name: "Use the light theme" }).click();
  assert.deepEqual(await colours(), light);
  await page.emulateMedia({ colorScheme: "dark" }); // the choice overrides the system's
  assert.deepEqual(await colours(), light);
  await close();
});

test("resizes without overflow", async () => {
  const { page, close } = await open({ width: 1280 });
  for (const width of [400, 760, 1000, 320, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    await page.waitForFunction(() =>
      [...document.querySelectorAll("[data-plot]")].every((e) => {
        const drawn = e.querySelector("svg, canvas");
        return Math.abs(drawn.getBoundingClientRect().width - e.clientWidth) <= 1;
      }),
    );
    assert.equal(await overflow(page), 0, `at ${width}`);
  }
  await close();
});

test("the legend hides and shows lines", async () => {
  const { page, close } = await open();
  const lines = () =>
    page.evaluate(() =>
      ["latency", "rate", "rss"].map(
        (p) => document.querySelectorAll(`#w0 [data-plot=${p}] svg path[fill=none][stroke-linejoin=bevel]`).length,
      ),
    );
  const before = await lines();
  assert.ok(before.every((n) => n >= 9), `lines ${before}`);
  const button = page.locator("#w0 .legend button", { hasText: "fasthttp" });
  await button.click();
  assert.equal(await button.getAttribute("aria-pressed"), "false");
  assert.deepEqual(await lines(), before.map((n) => n - 1));
  await button.press("Enter"); // by keyboard, too
  assert.deepEqual(await lines(), before);
  const twin = page.locator("#w0 .legend button", { hasText: "@twin" });
  assert.equal(await twin.getAttribute("aria-pressed"), "false", "the twin begins hidden");
  await close();
});

test("tables sort", async () => {
  const { page, close } = await open();
  const details = page.locator("#raw details", { hasText: "Runs (" });
  await details.locator("summary").click();
  const column = (n) =>
    details.locator("tbody tr").evaluateAll((rows, n) => rows.map((r) => r.cells[n].dataset.v ?? r.cells[n].textContent), n);
  const numbers = async (n) => (await column(n)).filter((v) => v !== "").map(Number);
  const sorted = (list, down) => list.toSorted((a, b) => (down ? b - a : a - b));

  const all = await numbers(4);
  assert.ok(all.length > 150);
  assert.notDeepEqual(all, sorted(all), "sorted before it was asked for");
  const rate = details.getByRole("button", { name: "rate /s" });
  await rate.click();
  assert.deepEqual(await numbers(4), sorted(all));
  assert.equal((await column(4)).at(-1), "", "runs without a rate come last");
  assert.equal(await details.locator("th", { hasText: "rate /s" }).getAttribute("aria-sort"), "ascending");
  await rate.click();
  assert.deepEqual(await numbers(4), sorted(all, true));
  assert.equal((await column(4)).at(-1), "", "also when sorted the other way");
  await details.getByRole("button", { name: "run", exact: true }).click();
  const names = await column(0);
  assert.deepEqual(names, names.toSorted((a, b) => a.localeCompare(b, "en", { numeric: true })));
  assert.equal(await details.locator("th[aria-sort]").count(), 1);
  await close();
});

test("the heat map changes its subject", async () => {
  const { page, close } = await open();
  const plot = page.locator("#w0 [data-plot=heat]");
  const picture = () =>
    plot.evaluate((e) => [...e.querySelectorAll("canvas")].map((c) => c.toDataURL()).join());
  const first = await picture();
  const select = page.locator("#w0 select");
  assert.equal(await select.locator("option").count(), 10);
  await select.selectOption({ label: "gin" });
  await page.waitForFunction(
    (first) =>
      [...document.querySelectorAll("#w0 [data-plot=heat] canvas")].map((c) => c.toDataURL()).join() !== first,
    first,
  );
  assert.match(await plot.getAttribute("aria-label"), /latency of gin /);
  await close();
});

test("tooltips show figures as text", async () => {
  const { page, close } = await open();
  for (const [plot, pattern] of [
    ["cpu", /95 % interval.*µs/s],
    ["latency", /^p\d.*redline.*(µs|ms)/s],
    ["heat", /block \d.*requests/s],
    ["rate", /block \d.*net-http.*k/s],
    ["rss", /block \d.*MiB/s],
  ]) {
    const area = page.locator(`#w0 [data-plot=${plot}]`);
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
      await page.mouse.move(box.x + box.width * 0.3, box.y + box.height * (0.45 + i * 0.015));
      await page.waitForTimeout(30);
      text = await area.evaluate(read);
    }
    assert.match(text, pattern);
    if (shots && plot === "latency") await page.screenshot({ path: join(shots, "report-tooltip.png") });
    await page.mouse.move(2, 2);
  }
  await close();
});

test("downloads the results file", async () => {
  const { page, close } = await open();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "results.json" }).click(),
  ]);
  assert.equal(download.suggestedFilename(), "results.json");
  const file = JSON.parse(readFileSync(await download.path(), "utf8"));
  assert.equal(file.schema, "redline.results");
  assert.equal(file.runs.length, 180);
  assert.match(file.runs.find((r) => r.stderr).stderr, /<\/script><script>window\.pwned=1/);
  await close();
});

test("hostile text is shown, not executed", async () => {
  const { page, close } = await open();
  const shown = await page.locator("#failures pre").innerText();
  assert.ok(shown.includes("panic: </script><script>window.pwned=1</script>"));
  assert.ok(shown.includes("\\x1b[2J"), "control characters are escaped");
  assert.equal(await page.locator("#failures img, main b[onmouseover]").count(), 0);
  const csp = await page.locator("meta[http-equiv=Content-Security-Policy]").getAttribute("content");
  assert.match(csp, /^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+';/);
  await close();
});

test("is accessible to assistive technology", async () => {
  const { page, close } = await open();
  const mute = await page.evaluate(() => {
    const named = (e) => e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.textContent.trim();
    return [...document.querySelectorAll("button, [role=img], [role=region], [role=group], section, summary")]
      .filter((e) => !named(e))
      .map((e) => e.outerHTML.slice(0, 80));
  });
  assert.deepEqual(mute, []);
  assert.equal(await page.locator("select").count(), await page.locator("label > select").count());
  assert.equal(await page.locator("h1").count(), 1);
  assert.equal(await page.locator("th:not([scope])").count(), 0);
  await close();
});

test("readable without JavaScript", async () => {
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 400, height: 800 } });
  const page = await context.newPage();
  await page.goto(url);
  assert.match(await page.locator("#w0 table.summary").innerText(), /redline/);
  assert.equal(await page.locator("#theme").isVisible(), false);
  await context.close();
});
