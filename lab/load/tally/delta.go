package tally

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	half    = 1 << 10                // buckets an octave: three digits
	last    = 42                     // bits of the longest latency, which is more than an hour
	buckets = (last - 10 + 1) * half // one octave more at the bottom, which is linear
)

// Delta carries a distribution of latencies, in nanoseconds, from one tick to the next:
// in a few hundred bytes, and without losing anything that an HdrHistogram of three
// digits would have kept. The zero value is not ready, see NewDelta.
//
// Its buckets are those of such a histogram whose lowest value is 1, so that
// deltas that are put into one give the very histogram that the samples would
// have given. Encoding a histogram itself takes 0.7 ms and 0.9 MB, in which a
// generator sends nothing; a delta takes some microseconds.
type Delta struct {
	n         []uint32
	low, high int // between them is what is not zero: low <= i < high
	buf       []byte
}

// NewDelta returns an empty distribution.
func NewDelta() *Delta { return &Delta{n: make([]uint32, buckets), low: buckets} }

// Add counts n latencies of ns nanoseconds; what is beyond the range counts as
// its end.
func (d *Delta) Add(ns int64, n int) {
	i := bucket(ns)
	d.n[i] += uint32(n)
	d.low, d.high = min(d.low, i), max(d.high, i+1)
}

// bucket is the index of the one that holds a value.
func bucket(ns int64) int {
	v := uint64(min(max(ns, 1), 1<<last-1))
	octave := bits.Len64(v|(2*half-1)) - 11
	return octave*half + int(v>>octave)
}

// bucketFloor is a bucket's lowest value.
func bucketFloor(i int) int64 {
	if i < 2*half {
		return int64(i)
	}
	octave := i/half - 1
	return int64(i-octave*half) << octave
}

// Take returns what was counted since it was called last, and begins anew. The
// text is base64 of a list of unsigned varints: how many buckets are not empty,
// and for each the distance from the one before and its count.
func (d *Delta) Take() string {
	used := 0
	for i := d.low; i < d.high; i++ {
		if d.n[i] > 0 {
			used++
		}
	}
	b := binary.AppendUvarint(d.buf[:0], uint64(used))
	before := 0
	for i := d.low; i < d.high; i++ {
		if d.n[i] > 0 {
			b = binary.AppendUvarint(b, uint64(i-before))
			b = binary.AppendUvarint(b, uint64(d.n[i]))
			before = i
		}
	}
	d.buf = b
	d.Reset()
	return base64.StdEncoding.EncodeToString(b)
}

// Reset forgets what was counted.
func (d *Delta) Reset() {
	if d.low < d.high {
		clear(d.n[d.low:d.high])
	}
	d.low, d.high = buckets, 0
}

// DeltaHistogram returns an empty histogram that takes all that a delta can hold.
func DeltaHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, 1<<last-1, 3) }

var errDamaged = errors.New("a delta of latencies is damaged")

// MergeDelta adds what Take returned to a histogram of three digits whose lowest value
// is 1. It adds all of it or, with an error, a part.
func MergeDelta(to *hdrhistogram.Histogram, text string) error {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			err = errDamaged
			return 0
		}
		b = b[n:]
		return v
	}
	i := uint64(0)
	for used := next(); used > 0 && err == nil; used-- {
		gap, count := next(), next()
		if i += min(gap, buckets); err != nil || i >= buckets || count > 1<<32 {
			return errDamaged
		}
		if err := to.RecordValues(bucketFloor(int(i)), int64(count)); err != nil {
			return fmt.Errorf("merge a delta: %w", err)
		}
	}
	if err == nil && len(b) > 0 {
		err = errDamaged
	}
	return err
}
