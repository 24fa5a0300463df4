package request

import (
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
)

// Moments hold what was answered since the last tick, of as many targets as there is room for.
func TestMoments(t *testing.T) {
	if none := newMoments(nil); none != nil || none.take() != nil {
		t.Error("a single request has moments of targets")
	}
	m := make(moments, 2)
	m.add(1, int64(time.Millisecond))
	m.add(1, int64(time.Millisecond))
	m.add(spec.MaxTargetHeat+1, 1)
	heat := m.take()
	if want := uint64(results.HeatBucket(time.Millisecond)); len(heat) != 2 || len(heat[0]) != 0 || len(heat[1]) != 1 || heat[1][0] != [2]uint64{want, 2} {
		t.Errorf("%v", heat)
	}
	if again := m.take(); len(again[1]) != 0 {
		t.Errorf("%v of the next tick", again)
	}
}
