//go:build !race

package http1

// tries is one of how many random inputs is tried.
const tries = 1
