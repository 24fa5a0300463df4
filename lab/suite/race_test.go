//go:build race

package suite

import "testing"

// once skips a test under the race detector: one that runs a comparison like others, for the sake of
// what its processes do, into which the detector does not look; or one that only computes, for long.
func once(t *testing.T) {
	t.Helper()
	t.Skip("it runs without the race detector: other tests run the same code with it")
}
