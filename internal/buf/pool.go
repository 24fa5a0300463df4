package buf

import (
	"math/bits"
	"sync"
	"unsafe"
)

// The pooled sizes are the powers of two from minSize to maxSize.
const (
	minShift = 9  // 512 bytes
	maxShift = 20 // 1 MiB
)

// pools hold pointers to the first byte: a pointer fits into an interface without an
// allocation, a slice does not.
var pools [maxShift - minShift + 1]sync.Pool

// class is the index of the pool whose slices have n bytes or more.
func class(n int) int {
	if n <= 1<<minShift {
		return 0
	}
	return bits.Len(uint(n-1)) - minShift
}

// Get returns a slice of length 0 and a capacity of at least n bytes, whose content is not
// zeroed. It belongs to the caller, who may pass it to [Put].
func Get(n int) []byte {
	c := class(n)
	if c >= len(pools) {
		return make([]byte, 0, n)
	}
	if p, ok := pools[c].Get().(*byte); ok {
		return unsafe.Slice(p, 1<<(c+minShift))[:0]
	}
	return make([]byte, 0, 1<<(c+minShift))
}

// Put takes back a slice that came from [Get] and starts where that one did. The caller
// must not use it, or any part of it, after that. Slices of other sizes than Get's are left
// to the garbage collector.
func Put(b []byte) {
	n := cap(b)
	c := class(n)
	if n == 0 || c >= len(pools) || n != 1<<(c+minShift) {
		return
	}
	pools[c].Put(unsafe.SliceData(b[:n]))
}

// Grow returns b with room for n more bytes. If b does not have that room, its content is
// moved to a larger slice and b is passed to [Put].
func Grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	g := append(Get(max(len(b)+n, 2*cap(b))), b...)
	Put(b)
	return g
}
