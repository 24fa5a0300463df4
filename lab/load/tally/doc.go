// Package tally keeps the books of a load generator: what was counted, in ticks and
// in the window, the distributions of latencies, and what became of the arrivals of
// an open loop. It knows no protocol and reads no clock; its memory does not grow
// with what it counts.
package tally
