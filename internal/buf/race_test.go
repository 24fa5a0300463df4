//go:build race

package buf

// The race detector looks at each byte that is moved, and a queue has one owner.
const seeds uint64 = 5
