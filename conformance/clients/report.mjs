// Runs the cases of a client one by one and prints what became of each.

import { strictEqual } from "node:assert";

const patience = 30_000;
let failed = false;

/** Runs a case: prints "ok NAME", or "not ok NAME: WHY". */
export async function test(name, run) {
  let timer;
  const late = new Promise((_, no) => { timer = setTimeout(() => no(new Error("it takes too long")), patience); });
  try {
    await Promise.race([run(), late]);
    console.log(`ok ${name}`);
  } catch (e) {
    failed = true;
    console.log(`not ok ${name}: ${`${e.stack ?? e} ${e.cause ?? ""}`.replaceAll("\n", " ")}`);
  } finally {
    clearTimeout(timer);
  }
}

/** Ends the program. */
export const end = () => process.exit(failed ? 1 : 0);

/** Compares two strings without printing all of a long one. */
export const same = (got, want) => strictEqual(got.length > 99 ? got === want : got, want.length > 99 ? true : want);

/** 5 MiB of text that differs everywhere. */
export const blob = () => Array.from({ length: 800_000 }, (_, i) => `${i},`).join("").slice(0, 5 << 20);

/** Splits what comes, strings or bytes, into lines. */
export async function* lines(source) {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const part of source) {
    rest += typeof part === "string" ? part : decoder.decode(part, { stream: true });
    for (let i = rest.indexOf("\n"); i >= 0; i = rest.indexOf("\n")) {
      yield rest.slice(0, i);
      rest = rest.slice(i + 1);
    }
  }
}
