// Helpers of the tests in Chromium: pages that a hub serves, with the client as users get it, minified.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { build } from "esbuild";
import { chromium } from "playwright-core";

const here = new URL(".", import.meta.url).pathname;

/** How long a page may take for anything, in milliseconds; nothing is expected to. */
export const patience = 120_000;

/** Bundles and minifies code that may import the client's entry points from ../dist, and returns it. */
export async function bundle(contents, more = {}) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: here, loader: "js" },
    bundle: true, minify: true, write: false, format: "esm", target: "es2022", charset: "utf8", logLevel: "warning",
    define: { "process.env.NODE_ENV": '"production"' },
    ...more,
  });
  return Buffer.from(outputFiles[0].contents);
}

// What a page of the tests does: start(options) subscribes and counts, where the events' payloads are numbers from 1.
const script = `
import { subscribe } from "../dist/index.js";
Object.assign(window, {
  events: 0, next: 0, holes: 0, twice: 0, gaps: [], states: [], types: [],
  start(options) {
    window.subscription = subscribe("/events", {
      retry: 50, maxRetry: 500, ...options,
      onEvent(e) {
        const n = +e.text();
        window.events++;
        if (window.next && n > window.next) window.holes += n - window.next;
        if (n < window.next) window.twice++;
        window.next = Math.max(n + 1, window.next);
        if (window.types.length < 20) window.types.push(e.type);
      },
      onGap: (g) => window.gaps.push(g),
      onStatus(s) {
        window.states.push(s.state);
        if (window.states.length > 20) window.states.shift();
      },
    });
  },
});`;

/**
 * Starts a browser. Playwright would start one whose pages always believe that they have the focus, which no browser
 * freezes, and whose timers never slow down in the background: it only connects to this one.
 */
async function launch() {
  const dir = mkdtempSync(join(tmpdir(), "redline-push-"));
  const child = spawn(process.env.CHROMIUM ?? "/usr/bin/chromium", [
    "--headless", "--remote-debugging-port=0", `--user-data-dir=${dir}`, "--no-sandbox", "--disable-gpu",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    // A process for each tab, so that one that hangs or crashes does not take another along.
    "--disable-features=ProcessPerSiteUpToMainFrameThreshold",
    "--no-first-run", "about:blank",
  ], { stdio: ["ignore", "ignore", "pipe"] });
  const exit = once(child, "exit");
  let browser;
  const stop = async () => {
    // An orderly end, which its child processes take part in; a browser that does not answer is killed.
    const kill = setTimeout(() => child.kill("SIGKILL"), patience);
    if (browser) await (await browser.newBrowserCDPSession()).send("Browser.close").catch(() => {});
    else child.kill("SIGKILL");
    await exit;
    clearTimeout(kill);
    await rm(dir, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
  };
  try {
    const at = await new Promise((found, no) => {
      createInterface(child.stderr).on("line", (line) => /^DevTools listening on /.test(line) && found(line.slice(22)));
      exit.then(() => no(new Error("Chromium does not start: set CHROMIUM to its executable")));
    });
    browser = await chromium.connectOverCDP(at, { noDefaults: true });
    return { browser, stop };
  } catch (e) {
    await stop();
    throw e;
  }
}

/** Starts a browser, and gives a hub the page of the tests. */
export async function start() {
  const { browser, stop } = await launch();
  const code = await bundle(script);
  return {
    browser,
    /** Serves the page on a hub. */
    serve(hub) {
      hub.pages.set("/", { type: "text/html", body: '<!doctype html><link rel="icon" href="data:,"><script type="module" src="/page.js"></script>' });
      hub.pages.set("/page.js", { type: "text/javascript", body: code });
    },
    /** Opens an empty tab that is closed after the test. */
    async page(t) {
      const page = await browser.contexts()[0].newPage();
      t.after(() => page.close());
      page.setDefaultTimeout(patience);
      return page;
    },
    /** Opens the page in n tabs, and subscribes in each. */
    async tabs(t, hub, n, options) {
      const pages = [];
      for (let i = 0; i < n; i++) {
        const page = await this.page(t);
        await page.goto(hub.url);
        await wait(page, () => !!window.start);
        await page.evaluate((o) => window.start(o), options);
        await wait(page, () => window.subscription.status.state === "open");
        pages.push(page);
      }
      return pages;
    },
    stop,
  };
}

/** What a page has counted. */
export const counts = (page) => page.evaluate(() => ({ events: window.events, holes: window.holes, twice: window.twice, gaps: window.gaps }));

/**
 * Waits until a function of the page returns something true. It asks from outside: the page's own timers, which Playwright
 * would use, are slow in hidden tabs, and it draws nothing there.
 */
export async function wait(page, f, arg) {
  for (const end = Date.now() + patience; Date.now() < end; await new Promise((done) => setTimeout(done, 50))) {
    if (await page.evaluate(f, arg)) return;
  }
  throw new Error(`waited in vain for ${f} ${arg ?? ""}`);
}

/** Waits until a page has the event with a number. */
export const has = (page, n) => wait(page, (n) => window.next > n, n);

/** Freezes a page as a browser does that saves energy, or thaws it. */
export async function lifecycle(page, state) {
  const session = await page.context().newCDPSession(page);
  await session.send("Page.setWebLifecycleState", { state });
  await session.detach();
}

/** Waits for an event of a page. */
export const happens = (page, name) => once(page, name);
