// Builds src/ into dist/, which the Go package embeds. The output depends only on
// the sources and on package-lock.json.
import { build } from "esbuild";
import { copyFile, readFile } from "node:fs/promises";

const read = (path) => readFile(new URL(path, import.meta.url), "utf8");
const pack = async (name) => JSON.parse(await read(`node_modules/${name}/package.json`));

const echarts = await pack("echarts");
const zrender = await pack("zrender");
const notice = (await read("node_modules/echarts/NOTICE")).trim();
const bsd = (await read("node_modules/zrender/LICENSE")).trim();

// Every page contains the libraries, so it also contains their licences.
const banner = `/*! Redline report. Contains Apache ECharts ${echarts.version}, licensed under the Apache License, Version 2.0
(http://www.apache.org/licenses/LICENSE-2.0):

${notice}

and ZRender ${zrender.version}:

${bsd}
*/`;

const bundle = (entryPoints, banner) =>
  build({
    absWorkingDir: new URL(".", import.meta.url).pathname,
    entryPoints,
    outdir: "dist",
    bundle: true,
    minify: true,
    format: "iife",
    target: ["es2022", "chrome123", "firefox120", "safari17.5"],
    charset: "utf8",
    legalComments: "none", // the banner has them in full
    banner,
    logLevel: "warning",
  });

await bundle(
  [
    { in: "src/main.ts", out: "report" },
    { in: "src/report.css", out: "report" },
  ],
  { js: banner, css: "/*! Redline report */" },
);
// Flame graphs use none of the libraries.
await bundle(
  [
    { in: "src/flame/main.ts", out: "flame" },
    { in: "src/flame/flame.css", out: "flame" },
  ],
  { js: "/*! Redline flame graph */", css: "/*! Redline flame graph */" },
);

for (const [from, to] of [
  ["echarts/LICENSE", "LICENSE.echarts"],
  ["echarts/NOTICE", "NOTICE.echarts"],
  ["zrender/LICENSE", "LICENSE.zrender"],
]) {
  await copyFile(new URL(`node_modules/${from}`, import.meta.url), new URL(`dist/${to}`, import.meta.url));
}
