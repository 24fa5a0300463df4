//go:build !race

package buf

// seeds is how many random sequences TestQueue tries.
const seeds uint64 = 400
