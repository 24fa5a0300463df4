// What a page pays for the client.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { bundle } from "./browser.mjs";

/** Bytes of the core, minified and compressed by gzip. The README promises at most these. */
const most = 4250;

const packed = async (code, more) => gzipSync(await bundle(code, more), { level: 9 }).length;

test(`the core has at most ${most} bytes`, async (t) => {
  const core = await packed('export { subscribe, PushEvent } from "../dist/index.js";');
  t.diagnostic(`core: ${core} bytes`);
  assert.ok(core <= most, `${core} bytes`);
  for (const name of ["react", "vue", "svelte"]) {
    const external = [name, `${name}/*`];
    t.diagnostic(`${name}: ${await packed(`export * from "../dist/${name}.js";`, { external })} bytes with the core`);
  }
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  assert.match(readme, new RegExp(`at most ${most.toLocaleString("en")} bytes`), "the README says how large the core is");
});

test("the core has no dependencies", async () => {
  const { dependencies } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  assert.equal(dependencies, undefined);
  const code = `${await bundle('export * from "../dist/index.js";')}`;
  assert.doesNotMatch(code, /\bimport\b|\brequire\b/);
});
