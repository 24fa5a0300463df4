//go:build !race

package trace_test

const raced = false
