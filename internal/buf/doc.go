// Package buf holds bytes on their way: a [Queue] of output that a session
// fills and a transport empties, and pooled byte slices for input.
//
//	             Discard ◀─┐                    ┌─▶ Tail, Commit
//	┌──────────┬───────────┼──┬───────┬──────┬──┴──────┬───────┐
//	│ chunk    │ reference │  │ chunk │ file │ chunk   │ free  │
//	└──────────┴───────────┴──┴───────┴──────┴─────────┴───────┘
//	 sealed segments, oldest first            open: being filled
//
// Small output is copied once, into a chunk of 16 KiB that comes from a pool;
// large slices and file ranges are referred to. In the common case, one answer
// that is written and sent whole, there is nothing but the open chunk, and the
// queue keeps it for the next answer.
package buf
