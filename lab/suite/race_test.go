//go:build race

package suite

import "testing"

// once skips a test under the race detector that runs a comparison like others, for the sake of what
// its processes do: the detector does not look into those.
func once(t *testing.T) {
	t.Helper()
	t.Skip("it runs without the race detector: other tests run the same code with it")
}
