package load

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/load/delta"
	"github.com/redline-go/redline/lab/results"
)

// kind is an index into kinds.
type kind uint8

const (
	kindConnect kind = iota
	kindReset
	kindClosed
	kindShort
	kindStatus
	kindLength
	kindBody
	kindMalformed
	kindTimeout
	kindUnasked
	kindHeader
	kindChunk
	kindEndless
	kindCheck
	numKinds
)

var kinds = [numKinds]string{
	ErrConnect, ErrReset, ErrClosed, ErrShort, ErrStatus,
	ErrLength, ErrBody, ErrMalformed, ErrTimeout, ErrUnasked,
	ErrHeader, ErrChunk, ErrEndless, ErrCheck,
}

var (
	errReset     = errors.New("connection reset by the server")
	errClosed    = errors.New("connection closed by the server")
	errShort     = errors.New("connection closed within an answer")
	errLength    = errors.New("answer of another length than expected")
	errBody      = errors.New("answer with another body than expected")
	errMalformed = errors.New("malformed answer")
	errHeader    = errors.New("answer whose head, or trailers, do not end")
	errChunk     = errors.New("answer with broken chunks")
	errEndless   = errors.New("answer whose body does not end")
	errTimeout   = errors.New("no answer in time")
	errUnasked   = errors.New("bytes that no request asked for")
	errCancelled = errors.New("cancelled")
)

// statusError is an answer of another status than expected.
type statusError struct{ got, want int }

func (e *statusError) Error() string {
	return fmt.Sprintf("answer of status %d, expected %d", e.got, e.want)
}

// maxLatency is where the histograms end; what took longer counts as that. An
// arrival of an open loop may well wait for minutes.
const maxLatency = 3600e9

// Buckets of a tick's distribution: 16 an octave from a microsecond, four to
// each of results.HeatBuckets, and 16 linear ones below.
const fineBuckets = 16 + 4*results.HeatBuckets

// counters only ever grow; an interval is the difference of two copies.
type counters struct {
	requests uint64 // right answers, or events
	answered uint64 // complete final answers, right or wrong
	sent     uint64 // requests written to the end
	bytesIn  uint64
	bytesOut uint64
	connects uint64
	early    uint64 // batches whose answers began before they were written
	dropped  uint64 // connections ended by the peer with nothing outstanding
	errors   [numKinds]uint64
}

// failures is the sum over all kinds.
func (c *counters) failures() (n uint64) {
	for _, e := range c.errors {
		n += e
	}
	return n
}

// recorder counts for the ticks and for the window.
type recorder struct {
	counters
	fine  fine                    // of the present tick
	hist  *hdrhistogram.Histogram // of the window, nanoseconds
	delta *delta.Counts           // what hist grew by in the present tick; nil unless Spec.Member

	connect *hdrhistogram.Histogram // of all connections
	first   *hdrhistogram.Histogram // first bytes of the answers that came in pieces, in the window,
	pieces  *hdrhistogram.Histogram // and their last bytes, both since the send
}

func newRecorder() *recorder {
	return &recorder{hist: newHistogram(), connect: newHistogram(), first: newHistogram(), pieces: newHistogram()}
}

// begin opens the window.
func (r *recorder) begin() {
	r.hist.Reset()
	if r.delta != nil {
		r.delta.Reset()
	}
	r.first.Reset()
	r.pieces.Reset()
}

// firstBytes is the distribution of the times to the first byte. Of answers that
// one read brought whole, which are nearly all, the first byte came with the last,
// so that nothing has to be recorded of them but what all holds anyway: the times
// from the send to the last byte. The others are taken out of it, and put in again
// with their first bytes.
func (r *recorder) firstBytes(all *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	sum, out, in := all.Export(), r.pieces.Export(), r.first.Export()
	for i := range sum.Counts {
		sum.Counts[i] += in.Counts[i] - out.Counts[i]
	}
	return hdrhistogram.Import(sum)
}

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, maxLatency, 3) }

// record adds n times of ns nanoseconds to a histogram. What is out of its range
// counts as its end, so there is no error to see.
func record(h *hdrhistogram.Histogram, ns int64, n int) {
	_ = h.RecordValues(min(max(ns, 1), maxLatency), int64(n))
}

// latency records n answers that took ns nanoseconds each.
func (r *recorder) latency(ns int64, n int) {
	r.fine.add(ns, n)
	r.sample(ns, n)
}

// sample is latency without the part of the tick's quantiles.
func (r *recorder) sample(ns int64, n int) {
	record(r.hist, ns, n)
	if r.delta != nil {
		r.delta.Add(min(ns, maxLatency), n)
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

// fineBucket divides each heat bucket in four. Units are sixteenths of a
// microsecond, so that the edges of heat buckets are edges here as well.
func fineBucket(ns int64) int {
	u := uint64(ns) * 2 / 125
	if u < 16 {
		return int(u)
	}
	octave := bits.Len64(u) - 5
	return min(16+octave*16+int(u>>octave)&15, fineBuckets-1)
}

// fineFloor is the lower edge of a bucket in microseconds.
func fineFloor(bucket int) float64 {
	if bucket < 16 {
		return float64(bucket) / 16
	}
	octave, sub := (bucket-16)/16, (bucket-16)%16
	return float64(uint64(16+sub)<<octave) / 16
}

// heatOf is the heat bucket that holds a fine one.
func heatOf(fine int) int { return max(fine-16, 0) / 4 }

// take returns the present tick's quantiles in microseconds and its heat, and
// begins the next tick.
func (r *recorder) take() (p50, p99 float64, heat [][2]uint64) {
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

// ends are the median and the 99th percentile in microseconds; 0 when it is empty.
func (f *fine) ends() (p50, p99 float64) {
	total := f.total()
	if total == 0 {
		return 0, 0
	}
	return f.quantile(total, 0.50), f.quantile(total, 0.99)
}

// quantile interpolates within a bucket, which is 6 % wide at most.
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

// encode returns a histogram in the V2 compressed form, base64.
func encode(h *hdrhistogram.Histogram) (string, error) {
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return "", fmt.Errorf("encode histogram: %w", err)
	}
	return string(b), nil
}
