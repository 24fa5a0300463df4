// Package buf holds bytes in transit: a [Queue] of output that a session fills and a
// transport empties, and pooled byte slices for input.
//
//	             Discard ◀─┐                    ┌─▶ Tail, Commit
//	┌──────────┬───────────┼──┬───────┬──────┬──┴──────┬───────┐
//	│ chunk    │ reference │  │ chunk │ file │ chunk   │ free  │
//	└──────────┴───────────┴──┴───────┴──────┴─────────┴───────┘
//	 sealed segments, oldest first            open: being filled
//
// Small output is copied once, into a chunk of 16 KiB from a pool; large slices and file
// ranges are referenced. In the common case, one answer that is written and sent whole,
// there is only the open chunk, and the queue keeps it for the next answer.
package buf
