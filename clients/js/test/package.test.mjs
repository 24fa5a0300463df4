// What npm would publish.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
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

// A program that has installed what npm would publish, and the frameworks, whose packages are those of here.
let program;
before(() => {
  program = mkdtempSync(join(tmpdir(), "redline-push-"));
  const run = (command, ...args) => execFileSync(command, args, { cwd: fileURLToPath(root), encoding: "utf8" });
  const [{ filename }] = JSON.parse(run("npm", "pack", "--json", "--ignore-scripts", "--pack-destination", program));
  run("tar", "-xf", join(program, filename), "-C", program);
  const modules = join(program, "node_modules");
  mkdirSync(join(modules, "@redline-go"), { recursive: true });
  renameSync(join(program, "package"), join(modules, about.name));
  for (const name of readdirSync(new URL("node_modules", root))) {
    if (!/^\.|typescript/.test(name)) symlinkSync(fileURLToPath(new URL(`node_modules/${name}`, root)), join(modules, name));
  }
});
after(() => rmSync(program, { recursive: true, force: true }));

const uses = `
  const core = subscribe("http://hub.example/", { topics: ["a"], onEvent: (e) => void e.text(), onGap: (g) => void g.reason, onStatus: (s) => void s.state });
  core.close();
  const all = [usePush, useVue, svelte, PushEvent].map((f) => typeof f).join();
  if (all !== "function,function,function,function") throw new Error(all);`;
const imports = `
  import { subscribe, PushEvent } from "${about.name}";
  import { usePush } from "${about.name}/react";
  import { usePush as useVue } from "${about.name}/vue";
  import { push as svelte } from "${about.name}/svelte";`;
const requires = `
  const { subscribe, PushEvent } = require("${about.name}");
  const { usePush } = require("${about.name}/react");
  const { usePush: useVue } = require("${about.name}/vue");
  const { push: svelte } = require("${about.name}/svelte");`;

for (const [file, text] of [["program.mjs", imports + uses], ["program.cjs", requires + uses]]) {
  test(`the tarball runs in ${file}`, () => {
    writeFileSync(join(program, file), text);
    execFileSync(process.execPath, [file], { cwd: program, encoding: "utf8", stdio: "pipe" });
  });
}

// Names whose types say that they are none of the package.
const wrong = `
  import type { Gap, Options, Status, Subscription } from "${about.name}";
  const options: Options = { format: "ndjson", onGap(gap: Gap) { const reason: string = gap.reason; void reason; } };
  const status: Status = { state: "open" };
  const subscription: Subscription = subscribe("/", options);
  // @ts-expect-error
  subscription.none();
  // @ts-expect-error
  usePush(7);
  // @ts-expect-error
  useVue(7);
  // @ts-expect-error
  svelte(7);
  void status;`;
const typed = imports + uses + wrong;
const toRequire = typed.replace(/import \{ (.*?) \} from ("[^"]+");/g, (_, names, from) => `import ${names.replace(/\W/g, "")}Of = require(${from}); const { ${names.replace(" as ", ": ")} } = ${names.replace(/\W/g, "")}Of;`);

for (const [resolution, module, compiler, file, text] of [
  ["node16", "node16", "typescript", "typed.mts", typed],
  ["node16", "node16", "typescript", "typed.cts", toRequire],
  ["nodenext", "nodenext", "typescript", "typed.mts", typed],
  ["bundler", "esnext", "typescript", "typed.ts", typed],
  ["bundler", "preserve", "typescript5", "typed.ts", typed],
  ["node16", "node16", "typescript5", "typed.cts", toRequire],
  ["node10", "commonjs", "typescript5", "typed.ts", typed],
]) {
  test(`the tarball has types for moduleResolution ${resolution}, in ${file}, by ${compiler}`, () => {
    writeFileSync(join(program, file), text);
    const compile = fileURLToPath(new URL(`node_modules/${compiler}/bin/tsc`, root));
    const options = ["--noEmit", "--strict", "--lib", "es2022,dom", "--target", "es2022", "--skipLibCheck"];
    try {
      execFileSync(process.execPath, [compile, ...options, "--module", module, "--moduleResolution", resolution, file], { cwd: program, encoding: "utf8", stdio: "pipe" });
    } catch (e) {
      assert.fail(e.stdout || e.message);
    }
  });
}
