//go:build race

package learn

// slower is how much longer calls take under the race detector.
const slower = 4
