// Node's http2. Arguments: the URL of the server, the id of streams, the file of the authority.

import { strictEqual } from "node:assert";
import { readFileSync } from "node:fs";
import { connect } from "node:http2";
import { blob, end, lines, same, test } from "./report.mjs";

const [base, id, ca] = process.argv.slice(2);
const session = connect(base, { ca: readFileSync(ca) });
session.on("error", (e) => console.log(`# session: ${e}`));
console.log(`# node ${process.version}`);

/** Sends a request and returns the text of its response. */
async function send(path, body) {
  const stream = session.request({ ":path": path, ":method": body === undefined ? "GET" : "POST" });
  stream.setEncoding("utf8");
  stream.end(body);
  let text = "";
  for await (const part of stream) text += part;
  return text;
}

await test("get", async () => same(await send("/hello"), "HTTP/2.0"));
await test("post", async () => same(await send("/echo", blob()), blob()));
await test("many", async () => {
  const all = await Promise.all(Array.from({ length: 200 }, (_, i) => send(`/small/${i}?id=${id}`)));
  all.forEach((text, i) => same(text, `${i}`));
  same(await send(`/peers?id=${id}`), "1");
});
await test("stream", async () => {
  let n = 0;
  for await (const line of lines(session.request({ ":path": `/stream?id=${id}` }))) {
    same(line, `part ${n++}`);
    await send(`/next?id=${id}`);
  }
  strictEqual(n, 3);
});
await test("duplex", async () => {
  const stream = session.request({ ":path": "/duplex", ":method": "POST" });
  stream.write("line 0\n");
  let n = 0;
  for await (const line of lines(stream)) {
    same(line, `line ${n++}`);
    if (n < 3) stream.write(`line ${n}\n`);
    else stream.end();
  }
  strictEqual(n, 3);
});
await test("trailers", async () => {
  const stream = session.request({ ":path": "/trailers", ":method": "POST" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "x-client": "here" }));
  const got = new Promise((yes) => { stream.on("trailers", yes); });
  stream.end("12345");
  stream.resume();
  const trailers = await got;
  same(trailers["x-length"], "5");
  same(trailers["x-back"], "here");
});
await test("ca", async () => {
  const stranger = connect(base);
  const error = await new Promise((yes, no) => { stranger.on("error", yes).on("connect", () => no(new Error("it connected"))); });
  same(error.code, "UNABLE_TO_VERIFY_LEAF_SIGNATURE");
});
session.close();
end();
