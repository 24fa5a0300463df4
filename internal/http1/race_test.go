//go:build race

package http1

// tries is one of how many random inputs is tried: one goroutine at a time has a session, on the
// connections that are imitated too, and the race detector finds nothing in bytes.
const tries = 10
