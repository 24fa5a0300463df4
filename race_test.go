//go:build race

package redline_test

// slower is by how much the race detector slows down who moves many bytes.
const slower = 4
