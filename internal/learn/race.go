//go:build race

package learn

// slower is the factor by which calls are slower under the race detector.
const slower = 4
