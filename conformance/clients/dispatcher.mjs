// Loaded before a program (node --import), it has the program's fetch speak HTTP/2 where the
// server offers it, or HTTP/1.1 alone. The environment says which: HTTP_VERSION is 2 or 1.
// NODE_EXTRA_CA_CERTS names the file of the authority. The certificate has to be signed by it,
// but may have any name: undici takes the field Host for the name, and programs may set that.

import { Agent, fetch, setGlobalDispatcher } from "undici";

setGlobalDispatcher(new Agent({ allowH2: process.env.HTTP_VERSION === "2", connect: { checkServerIdentity: () => undefined } }));
globalThis.fetch = fetch;
