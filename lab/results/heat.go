package results

import (
	"math/bits"
	"time"
)

// HeatBuckets is the number of buckets of a latency heat map: 4 an octave from 1
// microsecond on, so that the last one begins above a minute.
const HeatBuckets = 108

// HeatBucket returns the bucket of a heat map that contains a latency: 4 an octave (each
// about 19 % wide); the first one contains everything below 1.25 microseconds.
func HeatBucket(d time.Duration) int {
	us4 := uint64(max(d, 0)) / 250 // quarters of a microsecond
	if us4 < 4 {
		return 0
	}
	octave := bits.Len64(us4) - 3 // 4..7 quarters are octave 0
	sub := int(us4>>octave) & 3   // linear within the octave, as in HDR histograms
	return min(octave*4+sub, HeatBuckets-1)
}

// HeatFloor returns the lower edge of a bucket.
func HeatFloor(bucket int) time.Duration {
	octave, sub := bucket/4, bucket%4
	return time.Duration(4+sub) << octave * 250
}
