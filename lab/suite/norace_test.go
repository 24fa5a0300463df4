//go:build !race

package suite

import "testing"

// once does nothing without the race detector.
func once(*testing.T) {}
