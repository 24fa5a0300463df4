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

// HeatQuantile is a quantile (0 to 1) of the counts of a heat map in microseconds,
// interpolated within its bucket, which is 14 to 25 % wide; false without counts.
func HeatQuantile(counts *[HeatBuckets]uint64, q float64) (us float64, ok bool) {
	total, below := 0.0, 0.0
	for _, n := range counts {
		total += float64(n)
	}
	for b, n := range counts {
		if n := float64(n); n > 0 && below+n >= q*total {
			low, high := HeatFloor(b).Seconds(), HeatFloor(b+1).Seconds()
			return 1e6 * (low + (high-low)*(q*total-below)/n), true
		}
		below += float64(n)
	}
	return 0, false
}
