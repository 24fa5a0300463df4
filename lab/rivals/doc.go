// Package rivals compares redline load with other load generators, such as wrk and oha: with
// the same server and the same load, and with measurements taken outside of all of them.
//
//	                 ┌─ generator process tree, CPU 1:  its CPU clocks ─────┐
//	Compare ── run ──┤                                                      ├─▶ Result ─▶ Markdown, JSON
//	                 └─ server, CPU 0:  what its sockets sent, or its count ┘
//
// Throughput is what the server answered within a window in the middle of the generator's
// run, so that start, warm-up and evaluation of the generator are not included. The
// generator's own report is listed next to it. The servers parse almost nothing: a server
// slower than the generators would be what is measured, and a generator that polls while it
// waits would have its waiting counted as cost.
//
// Accuracy is measured against the distribution of response times that users of a stalling
// server would see: a [scripted.Script] defines when each request is answered, the server
// follows it, and the distribution is calculated from it rather than measured.
package rivals
