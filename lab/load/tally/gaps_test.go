package tally

import (
	"math"
	"testing"
)

// TestGaps counts all gaps of a window, and keeps the longest.
func TestGaps(t *testing.T) {
	g := NewGaps(100e9, 200e9)
	g.Add(0, 101e9)
	for i := range int64(3 * maxGaps) {
		g.Add((110+i)*1e9, (110+i)*1e9+i*1e6)
	}
	g.Add(199e9, 300e9)
	list, all := g.Result(), g.Sum()
	if len(list) != maxGaps || list[0].Seconds != 1 || list[maxGaps-1].At != 99 || list[1].Seconds < 0.04 {
		t.Errorf("%+v", list)
	}
	if all.Times != 3*maxGaps+1 || math.Abs(all.Seconds-(2+0.001*3*maxGaps*(3*maxGaps-1)/2)) > 1e-9 {
		t.Errorf("%+v", all)
	}
}
