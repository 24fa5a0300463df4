package control

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strconv"
	"sync"
)

// Schema is the value of "schema" in every line of the control socket.
const Schema = "redline.runtime/1"

var comma = []byte{','}

// fields are the JSON fields that each hold one metric, in output order. The number of
// goroutines is not among them: the runtime's metric of that name also counts the runtime's
// own goroutines, and takes the scheduler's lock.
var fields = [...]struct{ name, metric string }{
	{"gomaxprocs", "/sched/gomaxprocs:threads"},
	{"alloc_objects", "/gc/heap/allocs:objects"},
	{"alloc_bytes", "/gc/heap/allocs:bytes"},
	{"heap_bytes", "/memory/classes/heap/objects:bytes"},
	{"live_bytes", "/gc/heap/live:bytes"},
	{"gc_cycles", "/gc/cycles/total:gc-cycles"},
	{"gc_cpu_seconds", "/cpu/classes/gc/total:cpu-seconds"},
	{"idle_cpu_seconds", "/cpu/classes/idle:cpu-seconds"},
	{"cpu_seconds", "/cpu/classes/total:cpu-seconds"},
	{"pauses", "/sched/pauses/total/gc:seconds"},
	{"latencies", "/sched/latencies:seconds"},
}

// sampler reads the runtime's metrics. After its first line it allocates nothing, so that
// measuring does not show in the measurement.
type sampler struct {
	mu      sync.Mutex
	head    []byte // the constant beginning of a line
	samples []metrics.Sample
}

func newSampler(options Options) *sampler {
	s := &sampler{}
	name := options.Name
	if name == "" {
		name = filepath.Base(os.Args[0])
	}
	s.head = appendField(s.head, '{', "schema", Schema)
	s.head = appendField(s.head, ',', "subject", name)
	s.head = appendField(s.head, ',', "title", cmp.Or(options.Title, name))
	s.head = appendField(s.head, ',', "go", runtime.Version())
	if len(options.Profiles) > 0 {
		s.head = append(s.head, `,"profiles":`...)
		s.head = append(s.head, encode(options.Profiles)...)
	}
	for _, f := range fields {
		s.samples = append(s.samples, metrics.Sample{Name: f.metric})
	}
	return s
}

func appendField(line []byte, before byte, name, value string) []byte {
	line = append(line, before)
	line = append(line, encode(name)...)
	line = append(line, ':')
	return append(line, encode(value)...)
}

// encode returns the JSON of strings.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // cannot happen for strings
		panic(err)
	}
	return b
}

// appendLine appends one snapshot, as JSON followed by a newline.
func (s *sampler) appendLine(line []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	metrics.Read(s.samples)
	line = append(line, s.head...)
	line = append(line, `,"goroutines":`...)
	line = strconv.AppendInt(line, int64(runtime.NumGoroutine()), 10)
	for i, f := range fields {
		line = append(line, ',', '"')
		line = append(line, f.name...)
		line = append(line, '"', ':')
		line = appendValue(line, s.samples[i].Value)
	}
	return append(line, '}', '\n')
}

// appendValue appends a metric. A metric that this runtime does not have is null.
func appendValue(line []byte, v metrics.Value) []byte {
	switch v.Kind() {
	case metrics.KindUint64:
		return strconv.AppendUint(line, v.Uint64(), 10)
	case metrics.KindFloat64:
		return strconv.AppendFloat(line, v.Float64(), 'g', -1, 64)
	case metrics.KindFloat64Histogram:
		return appendHistogram(line, v.Float64Histogram())
	}
	return append(line, "null"...)
}

// appendHistogram appends the non-empty buckets of h: their upper bounds and their counts.
// JSON has no infinity, so the last bucket is counted under the last finite bound.
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

// nextBucket finds the first non-empty bucket from i. Neighbours with the same finite bound
// count as one.
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
