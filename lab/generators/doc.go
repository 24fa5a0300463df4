// Package generators compares load generators: the same server, the same load, and
// a judge outside of all of them.
//
//	                 ┌─ generator process tree, CPU 1:  its CPU clocks ─────┐
//	Compare ── run ──┤                                                      ├─▶ Result ─▶ Markdown, JSON
//	                 └─ server, CPU 0:  what its sockets sent, or its count ┘
//
// Throughput is what the server answered within a window in the middle of the
// generator's run, so that neither its start nor its warm-up nor its arithmetic
// takes part. What the generator reports stands beside it. The servers parse next to
// nothing: one that is slower than the generators is what would be measured, and
// a generator that polls while it waits would have its waiting counted.
//
// Truth is the distribution of response times that users of a server would see
// that stalls: a [scripted.Script] says when each request is answered, the server keeps to
// it, and the distribution is calculated from it and never measured.
package generators
