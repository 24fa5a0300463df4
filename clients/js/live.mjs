// Builds the page of examples/live into its dist, which the example embeds. With --serve it also serves the page on the
// hub of the tests, with a market that moves.
import { build } from "esbuild";
import { copyFile, mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const web = new URL("../../examples/live/web/", import.meta.url);

await mkdir(new URL("dist", web), { recursive: true });
await build({
  absWorkingDir: fileURLToPath(web),
  entryPoints: [
    { in: "src/main.ts", out: "live" },
    { in: "src/live.css", out: "live" },
  ],
  outdir: "dist",
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022", "chrome123", "firefox120", "safari17.5"],
  charset: "utf8",
  alias: { "@redline-go/push": fileURLToPath(new URL("src/index.ts", import.meta.url)) },
  banner: { js: "/*! Redline live */", css: "/*! Redline live */" },
  logLevel: "warning",
});
await copyFile(new URL("src/index.html", web), new URL("dist/index.html", web));

if (process.argv.includes("--serve")) {
  const { market } = await import("./test/market.mjs");
  const { hub } = await market({ every: 60 });
  console.log(`listening on ${hub.url}`);
}
