package request

import (
	"time"

	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
)

// moments are the latencies of each target of a scenario since the last tick. They are empty
// for a single target, whose latencies are those of all requests.
type moments [][results.HeatBuckets]uint64

// newMoments returns the moments of a scenario's targets.
func newMoments(targets []*scenario.Target) moments {
	requests := 0
	for _, t := range targets {
		if !t.Setup() {
			requests++
		}
	}
	if requests < 2 {
		return nil
	}
	return make(moments, min(len(targets), spec.MaxTargetHeat))
}

// add counts a right answer.
func (m moments) add(target int, latency int64) {
	if target < len(m) {
		m[target][results.HeatBucket(time.Duration(latency))]++
	}
}

// take returns the counts, and begins the next tick.
func (m moments) take() (heat [][][2]uint64) {
	for i := range m {
		var sparse [][2]uint64
		for bucket, n := range m[i] {
			if n > 0 {
				sparse = append(sparse, [2]uint64{uint64(bucket), n})
			}
		}
		heat = append(heat, sparse)
		m[i] = [results.HeatBuckets]uint64{}
	}
	return heat
}
