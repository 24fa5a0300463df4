// Helpers of the page tests: pages that a Go program writes, and a browser that opens them.
// Set REPORT_SHOTS to a directory to keep screenshots.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const lab = new URL("../../../", import.meta.url).pathname;
export const shots = process.env.REPORT_SHOTS;

/** Starts a browser and creates a directory for the pages. */
export async function start() {
  const dir = mkdtempSync(join(tmpdir(), "redline-report-"));
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--no-first-run",
    ],
  });

  return {
    browser,

    /** Writes a page with a Go program and returns its URL. */
    made(name, command, ...args) {
      const html = execFileSync("go", ["run", command, ...args], { cwd: lab, maxBuffer: 64 << 20 });
      const file = join(dir, `${name}.html`);
      writeFileSync(file, html);
      return pathToFileURL(file).href;
    },

    /** Opens a page; its close() fails on errors and requests of the page. */
    async open({ scheme = "light", width = 1280, at }) {
      const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height: 900 }, acceptDownloads: true });
      const page = await context.newPage();
      const wrong = [];
      const requests = [];
      page.on("console", (m) => ["error", "warning"].includes(m.type()) && wrong.push(m.text()));
      page.on("pageerror", (e) => wrong.push(String(e)));
      page.on("request", (r) => requests.push(r.url()));
      await page.goto(at);
      await page.waitForSelector("html[data-ready]", { state: "attached" });
      return {
        page,
        async close() {
          assert.deepEqual(wrong, []);
          assert.deepEqual(requests.filter((r) => !r.startsWith("blob:")), [at]);
          assert.equal(await page.evaluate(() => window.pwned), undefined, "hostile text ran");
          await context.close();
        },
      };
    },

    async stop() {
      await browser.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Counts the pixels of a plot's fullest layer that are not transparent, and their colours. */
export const ink = (plot) => {
  const layers = [...plot.querySelectorAll("canvas")].map(layerInk);
  return layers.toSorted((a, b) => b.n - a.n)[0];

  function layerInk(canvas) {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const colours = new Set();
    let n = 0;
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] === 0) continue;
      n++;
      colours.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    }
    return { n, colours: colours.size };
  }
};

export const overflow = (page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
