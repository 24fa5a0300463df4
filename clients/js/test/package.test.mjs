// What npm would publish.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = new URL("../", import.meta.url);
const about = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));

test("the tarball has the licence, and every file that package.json names", () => {
  const [{ files }] = JSON.parse(execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: fileURLToPath(root), encoding: "utf8" }));
  const packed = new Set(files.map((f) => `./${f.path}`));
  const named = [about.main, about.module, about.types, ...Object.values(about.typesVersions["*"]).flat()];
  for (const way of Object.values(about.exports)) named.push(...(typeof way === "string" ? [way] : Object.values(way)));
  for (const file of [...named, "./LICENSE", "./README.md"]) assert.ok(packed.has(file), file);
  for (const file of named.filter((f) => f.endsWith("js"))) {
    const types = file.replace(/js$/, "ts").replace(/\.(\w+)$/, ".d.$1");
    assert.ok(packed.has(types), `the types of ${file}`);
    for (const [, other] of readFileSync(new URL(types, root), "utf8").matchAll(/["'](\.\/[^"']+)["']/g)) {
      assert.ok(existsSync(new URL(other.replace(/js$/, "ts").replace(/\.(\w+)$/, ".d.$1"), new URL(types, root))), `${types} names ${other}`);
      assert.equal(other.endsWith(".cjs"), file.endsWith(".cjs"), `${types} names ${other}`);
    }
  }
  assert.match(about.repository.url, /github\.com\/redline-go\/redline/);
});

test("require() and import have the same names", async () => {
  const require = createRequire(import.meta.url);
  for (const name of Object.keys(about.exports).filter((n) => n !== "./package.json")) {
    const path = `${about.name}${name.slice(1)}`;
    assert.deepEqual(Object.keys(require(path)).sort(), Object.keys(await import(path)).sort(), path);
  }
  assert.equal(require(about.name).PushEvent.name, "PushEvent");
});
