package tally

import (
	"fmt"
	"math/bits"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/results"
)

// MaxLatency is the end of the histograms' range; longer latencies count as that. An
// arrival of an open loop may wait for minutes.
const MaxLatency = 3600e9

// Buckets of a tick's distribution: 16 an octave from a microsecond on, that is four for
// each of results.HeatBuckets, and 16 linear ones below.
const fineBuckets = 16 + 4*results.HeatBuckets

// Counters never decrease; an interval is the difference of two copies.
type Counters struct {
	Requests uint64 // right responses, or events
	Answered uint64 // complete final responses, right or wrong
	Sent     uint64 // requests written completely
	BytesIn  uint64
	BytesOut uint64
	Connects uint64
	Early    uint64 // batches whose responses began before the requests were written
	TimedOut uint64 // requests of a closed loop that failed for lack of an answer
	Dropped  uint64 // connections closed by the peer with nothing outstanding
	Retried  uint64 // requests sent again after the peer closed their connections, or refused them
	Errors   [NumKinds]uint64
}

// Failures returns the sum over all kinds.
func (c *Counters) Failures() (n uint64) {
	for _, e := range c.Errors {
		n += e
	}
	return n
}

// KindsSince returns the failures since an earlier copy by the names of their kinds.
func (c *Counters) KindsSince(before *Counters) map[string]uint64 {
	kinds := map[string]uint64{}
	for k, name := range Names {
		if n := c.Errors[k] - before.Errors[k]; n > 0 {
			kinds[name] = n
		}
	}
	return kinds
}

// Recorder counts for the ticks and for the window.
type Recorder struct {
	Counters
	fine  fine                    // of the current tick
	Hist  *hdrhistogram.Histogram // of the window, nanoseconds
	Delta *Delta                  // growth of Hist in the current tick; nil unless it is used

	Connect *hdrhistogram.Histogram // of all connections
	First   *hdrhistogram.Histogram // first bytes of the responses that arrived in several reads, in the window,
	Pieces  *hdrhistogram.Histogram // and their last bytes, both since the send
}

// NewRecorder returns an empty recorder.
func NewRecorder() *Recorder {
	return &Recorder{Hist: NewHistogram(), Connect: NewHistogram(), First: NewHistogram(), Pieces: NewHistogram()}
}

// Begin opens the window.
func (r *Recorder) Begin() {
	r.Hist.Reset()
	if r.Delta != nil {
		r.Delta.Reset()
	}
	r.First.Reset()
	r.Pieces.Reset()
}

// FirstBytes returns the distribution of the times to the first byte. A response that
// arrives in one read, as nearly all do, has its first byte when it has its last, so
// nothing is recorded for it beyond what all has: the time from the send to the last byte.
// The other responses are removed from all, and added again with their first bytes.
func (r *Recorder) FirstBytes(all *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	sum, out, in := all.Export(), r.Pieces.Export(), r.First.Export()
	for i := range sum.Counts {
		sum.Counts[i] += in.Counts[i] - out.Counts[i]
	}
	return hdrhistogram.Import(sum)
}

// NewHistogram returns an empty histogram of nanoseconds up to an hour, to three digits.
func NewHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, MaxLatency, 3) }

// Record adds n times of ns nanoseconds to a histogram. A value outside of the range counts
// as the end of the range, so there is no error to handle.
func Record(h *hdrhistogram.Histogram, ns int64, n int) {
	_ = h.RecordValues(min(max(ns, 1), MaxLatency), int64(n))
}

// Latency records n responses that took ns nanoseconds each.
func (r *Recorder) Latency(ns int64, n int) {
	r.fine.add(ns, n)
	r.sample(ns, n)
}

// sample is Latency without the quantiles of the tick.
func (r *Recorder) sample(ns int64, n int) {
	Record(r.Hist, ns, n)
	if r.Delta != nil {
		r.Delta.Add(min(ns, MaxLatency), n)
	}
}

// fine is the distribution of a tick.
type fine [fineBuckets]uint64

func (f *fine) add(ns int64, n int) { f[fineBucket(max(ns, 0))] += uint64(n) }

func (f *fine) total() (n uint64) {
	for _, in := range f {
		n += in
	}
	return n
}

// fineBucket divides each heat bucket into four. The unit is a sixteenth of a microsecond,
// so that the edges of heat buckets are edges here as well.
func fineBucket(ns int64) int {
	u := uint64(ns) * 2 / 125
	if u < 16 {
		return int(u)
	}
	octave := bits.Len64(u) - 5
	return min(16+octave*16+int(u>>octave)&15, fineBuckets-1)
}

// fineFloor returns the lower edge of a bucket in microseconds.
func fineFloor(bucket int) float64 {
	if bucket < 16 {
		return float64(bucket) / 16
	}
	octave, sub := (bucket-16)/16, (bucket-16)%16
	return float64(uint64(16+sub)<<octave) / 16
}

// heatOf returns the heat bucket that contains a fine bucket.
func heatOf(fine int) int { return max(fine-16, 0) / 4 }

// P95 returns that of the current tick in microseconds, 0 without responses.
func (r *Recorder) P95() float64 {
	if total := r.fine.total(); total > 0 {
		return r.fine.quantile(total, 0.95)
	}
	return 0
}

// Take returns the quantiles of the current tick in microseconds and its heat, and begins
// the next tick.
func (r *Recorder) Take() (p50, p99 float64, heat [][2]uint64) {
	total := r.fine.total()
	if total == 0 {
		return 0, 0, [][2]uint64{}
	}
	p50, p99 = r.fine.quantile(total, 0.50), r.fine.quantile(total, 0.99)
	var sums [results.HeatBuckets]uint64
	used := 0
	for i, n := range r.fine {
		h := heatOf(i)
		if n > 0 && sums[h] == 0 {
			used++
		}
		sums[h] += n
	}
	heat = make([][2]uint64, 0, used)
	for h, n := range sums {
		if n > 0 {
			heat = append(heat, [2]uint64{uint64(h), n})
		}
	}
	r.fine = fine{}
	return p50, p99, heat
}

// quantile interpolates within a bucket, which is at most 6 % wide.
func (f *fine) quantile(total uint64, q float64) float64 {
	rank := q * float64(total)
	var below float64
	for i, n := range f {
		if n == 0 {
			continue
		}
		if share := float64(n); below+share >= rank {
			low, high := fineFloor(i), fineFloor(i+1)
			return low + (high-low)*(rank-below)/share
		}
		below += float64(n)
	}
	return fineFloor(fineBuckets)
}

// Encode returns a histogram in the V2 compressed form, base64.
func Encode(h *hdrhistogram.Histogram) (string, error) {
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return "", fmt.Errorf("encode histogram: %w", err)
	}
	return string(b), nil
}
