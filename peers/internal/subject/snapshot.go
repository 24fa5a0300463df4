package subject

import (
	"bytes"
	"math"
	"runtime"
	"runtime/metrics"
	"strconv"
	"sync"
)

// Schema is the value of "schema" in every line of the control socket.
const Schema = "redline.runtime/1"

const pausesMetric = "/sched/pauses/total/gc:seconds"

var comma = []byte{','}

// gauges are the JSON fields that are one metric, in the order they are written.
// The number of goroutines is not among them: the runtime's metric of that name
// counts the runtime's own as well, and takes the scheduler's lock.
var gauges = [...]struct{ field, metric string }{
	{"gomaxprocs", "/sched/gomaxprocs:threads"},
	{"alloc_objects", "/gc/heap/allocs:objects"},
	{"alloc_bytes", "/gc/heap/allocs:bytes"},
	{"heap_bytes", "/memory/classes/heap/objects:bytes"},
	{"gc_cycles", "/gc/cycles/total:gc-cycles"},
}

// sampler reads the runtime's metrics. After its first line it allocates
// nothing: what is measured must not be what measures.
type sampler struct {
	mu      sync.Mutex
	head    []byte // the constant beginning of a line
	samples []metrics.Sample
}

func newSampler(name, title string) *sampler {
	s := &sampler{}
	s.head = append(s.head, `{"schema":`...)
	s.head = strconv.AppendQuote(s.head, Schema)
	s.head = append(s.head, `,"subject":`...)
	s.head = strconv.AppendQuote(s.head, name)
	s.head = append(s.head, `,"title":`...)
	s.head = strconv.AppendQuote(s.head, title)
	s.head = append(s.head, `,"go":`...)
	s.head = strconv.AppendQuote(s.head, runtime.Version())
	for _, gauge := range gauges {
		s.samples = append(s.samples, metrics.Sample{Name: gauge.metric})
	}
	s.samples = append(s.samples, metrics.Sample{Name: pausesMetric})
	return s
}

// appendLine appends one snapshot, as JSON with a newline.
func (s *sampler) appendLine(line []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	metrics.Read(s.samples)
	line = append(line, s.head...)
	line = append(line, `,"goroutines":`...)
	line = strconv.AppendInt(line, int64(runtime.NumGoroutine()), 10)
	for i, gauge := range gauges {
		line = append(line, ',', '"')
		line = append(line, gauge.field...)
		line = append(line, '"', ':')
		line = strconv.AppendUint(line, s.samples[i].Value.Uint64(), 10)
	}
	line = append(line, `,"pauses":`...)
	line = appendHistogram(line, s.samples[len(gauges)].Value.Float64Histogram())
	return append(line, '}', '\n')
}

// appendHistogram appends the buckets of h that are not empty: their upper bounds
// and their counts. JSON has no infinity, so the last bucket is counted to the
// last finite bound.
func appendHistogram(line []byte, h *metrics.Float64Histogram) []byte {
	line = append(line, `{"le_seconds":[`...)
	for b, ok := nextBucket(h, 0); ok; b, ok = nextBucket(h, b.end) {
		line = strconv.AppendFloat(line, b.le, 'g', -1, 64)
		line = append(line, ',')
	}
	line = append(bytes.TrimSuffix(line, comma), `],"counts":[`...)
	for b, ok := nextBucket(h, 0); ok; b, ok = nextBucket(h, b.end) {
		line = strconv.AppendUint(line, b.count, 10)
		line = append(line, ',')
	}
	return append(bytes.TrimSuffix(line, comma), `]}`...)
}

type bucket struct {
	le    float64
	count uint64
	end   int // index of the bucket after it
}

// nextBucket finds the first bucket from i that is not empty. Neighbours with the
// same finite bound are one.
func nextBucket(h *metrics.Float64Histogram, i int) (bucket, bool) {
	for ; i < len(h.Counts); i++ {
		if h.Counts[i] == 0 {
			continue
		}
		b := bucket{le: upperBound(h, i), count: h.Counts[i], end: i + 1}
		for b.end < len(h.Counts) && upperBound(h, b.end) == b.le {
			b.count += h.Counts[b.end]
			b.end++
		}
		return b, true
	}
	return bucket{}, false
}

func upperBound(h *metrics.Float64Histogram, i int) float64 {
	if le := h.Buckets[i+1]; !math.IsInf(le, 1) {
		return le
	}
	return h.Buckets[i]
}
