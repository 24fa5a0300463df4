import { chromium } from "playwright-core";
const [,, file, out, scheme, width, ...tops] = process.argv;
const b = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const c = await b.newContext({ colorScheme: scheme, viewport: { width: +width, height: 1500 } });
const p = await c.newPage();
await p.goto("file://" + file);
await p.waitForSelector("html[data-ready]", { state: "attached" });
for (const t of tops) {
  if (t.startsWith("#")) await p.locator(t).scrollIntoViewIfNeeded(), await p.evaluate((s) => document.querySelector(s).scrollIntoView(), t);
  else await p.evaluate((y) => scrollTo(0, y), +t);
  await p.screenshot({ path: `${out}-${t.replace("#", "")}.png` });
}
await b.close();
