// Adds to dist what programs that use require() need: each module and its types, with the endings of CommonJS.
import { build } from "esbuild";
import { readdir, readFile, writeFile } from "node:fs/promises";

const dist = new URL("dist/", import.meta.url);
/** The modules that a program may name, see "exports" in package.json. */
const entries = ["index", "react", "vue", "svelte"];

const renamed = (text) => text.replace(/(["']\.\/\w+)\.js(["'])/g, "$1.cjs$2");
// One event is an instance of the one class PushEvent, whichever module brought it: the others require index.
const own = {
  name: "own",
  setup: (b) => b.onResolve({ filter: /^\.\/index\.js$/ }, () => ({ path: "./index.cjs", external: true })),
};
for (const name of entries) {
  await build({
    stdin: { contents: await readFile(new URL(`${name}.js`, dist), "utf8"), resolveDir: new URL(".", dist).pathname },
    outfile: new URL(`${name}.cjs`, dist).pathname,
    bundle: true, format: "cjs", packages: "external", target: "es2022", charset: "utf8", logLevel: "warning", plugins: [own],
  });
}
for (const file of await readdir(dist)) {
  if (!file.endsWith(".d.ts")) continue;
  const text = await readFile(new URL(file, dist), "utf8");
  await writeFile(new URL(file.replace(/ts$/, "cts"), dist), renamed(text));
}
