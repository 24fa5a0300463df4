//go:build race

package tlsio

// The race detector empties pools at random.
const most = 8
