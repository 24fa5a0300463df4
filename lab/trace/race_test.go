//go:build race

package trace_test

// raced: the race detector multiplies the memory of a process.
const raced = true
