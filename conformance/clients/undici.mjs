// Node's fetch, from the package that Node has built in, which speaks HTTP/2 if asked. Arguments:
// the version of HTTP, the URL of the server, the id of streams, the file of the authority.

import { rejects, strictEqual } from "node:assert";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Agent, fetch } from "undici";
import { blob, end, lines, same, test } from "./report.mjs";

const [version, base, id, ca] = process.argv.slice(2);
const allowH2 = version === "2";
const dispatcher = new Agent({ allowH2, connect: { ca: readFileSync(ca) } });
const send = async (path, body) => (await fetch(base + path, { dispatcher, body, method: body ? "POST" : "GET" })).text();
console.log(`# undici ${createRequire(import.meta.url)("undici/package.json").version}, node ${process.version}`);

await test("get", async () => same(await send("/hello"), allowH2 ? "HTTP/2.0" : "HTTP/1.1"));
await test("post", async () => same(await send("/echo", blob()), blob()));
await test("many", async () => {
  const all = await Promise.all(Array.from({ length: 200 }, (_, i) => send(`/small/${i}?id=${id}`)));
  all.forEach((text, i) => same(text, `${i}`));
  console.log(`# ${await send(`/peers?id=${id}`)} connections`);
});
await test("stream", async () => {
  let n = 0;
  const response = await fetch(`${base}/stream?id=${id}`, { dispatcher });
  for await (const line of lines(response.body)) {
    same(line, `part ${n++}`);
    await send(`/next?id=${id}`);
  }
  strictEqual(n, 3);
});
await test("ca", async () => {
  const stranger = new Agent({ allowH2 });
  await rejects(fetch(`${base}/hello`, { dispatcher: stranger }), (e) => e.cause.code === "UNABLE_TO_VERIFY_LEAF_SIGNATURE");
});
end();
