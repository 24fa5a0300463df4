package control

import (
	"bytes"
	"encoding/json"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"testing"
)

// snapshot is a line of the control socket, as a reader sees it.
type snapshot struct {
	Schema       string `json:"schema"`
	Subject      string `json:"subject"`
	Title        string `json:"title"`
	Go           string `json:"go"`
	GOMAXPROCS   int    `json:"gomaxprocs"`
	Goroutines   int    `json:"goroutines"`
	AllocObjects uint64 `json:"alloc_objects"`
	AllocBytes   uint64 `json:"alloc_bytes"`
	HeapBytes    uint64 `json:"heap_bytes"`
	GCCycles     uint64 `json:"gc_cycles"`
	LiveBytes    uint64 `json:"live_bytes"`

	GCCPU   float64 `json:"gc_cpu_seconds"`
	IdleCPU float64 `json:"idle_cpu_seconds"`
	CPU     float64 `json:"cpu_seconds"`

	Pauses    histogram `json:"pauses"`
	Latencies histogram `json:"latencies"`
	Profiles  []string  `json:"profiles"`
}

type histogram struct {
	LESeconds []float64 `json:"le_seconds"`
	Counts    []uint64  `json:"counts"`
}

func parseSnapshot(t *testing.T, line []byte) snapshot {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	var s snapshot
	if err := decoder.Decode(&s); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	return s
}

func TestSnapshot(t *testing.T) {
	sampler := newSampler(Options{Name: "gin", Title: "gin 1.2.3"})
	before := parseSnapshot(t, sampler.appendLine(nil))
	runtime.GC()
	after := parseSnapshot(t, sampler.appendLine(nil))

	if after.Schema != Schema || after.Subject != "gin" || after.Title != "gin 1.2.3" || after.Go != runtime.Version() {
		t.Errorf("names are %q, %q, %q, %q", after.Schema, after.Subject, after.Title, after.Go)
	}
	if after.GOMAXPROCS != runtime.GOMAXPROCS(0) || after.Goroutines < 1 || after.HeapBytes == 0 || after.LiveBytes == 0 {
		t.Errorf("gauges are wrong: %+v", after)
	}
	if after.AllocObjects <= before.AllocObjects || after.AllocBytes <= before.AllocBytes {
		t.Errorf("allocations went from %d objects, %d bytes to %d, %d",
			before.AllocObjects, before.AllocBytes, after.AllocObjects, after.AllocBytes)
	}
	if after.GCCycles <= before.GCCycles {
		t.Errorf("%d collections, then %d", before.GCCycles, after.GCCycles)
	}
	if after.GCCPU <= before.GCCPU || after.CPU <= before.CPU || after.CPU < after.GCCPU+after.IdleCPU {
		t.Errorf("a collection took no CPU: %v of %v, %v idle, after %v", after.GCCPU, after.CPU, after.IdleCPU, before.GCCPU)
	}
	if sum(after.Latencies.Counts) == 0 || after.Profiles != nil {
		t.Errorf("scheduler latencies %v, profiles %v", after.Latencies, after.Profiles)
	}
	if sum(after.Pauses.Counts) <= sum(before.Pauses.Counts) {
		t.Errorf("a collection added no pause: %v, then %v", before.Pauses, after.Pauses)
	}
	if len(after.Pauses.LESeconds) != len(after.Pauses.Counts) || !slices.IsSorted(after.Pauses.LESeconds) {
		t.Errorf("pauses are %v", after.Pauses)
	}
}

func sum(counts []uint64) (total uint64) {
	for _, count := range counts {
		total += count
	}
	return total
}

func TestSnapshotDoesNotAllocate(t *testing.T) {
	sampler := newSampler(Options{Name: "gin", Title: "gin 1.2.3"})
	line := sampler.appendLine(make([]byte, 0, 1<<16))
	if allocs := testing.AllocsPerRun(100, func() { line = sampler.appendLine(line[:0]) }); allocs != 0 {
		t.Errorf("%v allocations a snapshot, want none", allocs)
	}
}

func TestAppendHistogram(t *testing.T) {
	inf := math.Inf(1)
	tests := []struct {
		name      string
		histogram metrics.Float64Histogram
		want      string
	}{
		{"empty", metrics.Float64Histogram{Counts: []uint64{0, 0}, Buckets: []float64{-inf, 1, inf}}, `{"le_seconds":[],"counts":[]}`},
		{"gaps", metrics.Float64Histogram{Counts: []uint64{0, 2, 0, 3}, Buckets: []float64{0, 1e-9, 0.25, 0.5, 2}}, `{"le_seconds":[0.25,2],"counts":[2,3]}`},
		{"first", metrics.Float64Histogram{Counts: []uint64{7, 0}, Buckets: []float64{-inf, 1, 2}}, `{"le_seconds":[1],"counts":[7]}`},
		{"infinite", metrics.Float64Histogram{Counts: []uint64{0, 4}, Buckets: []float64{0, 1, inf}}, `{"le_seconds":[1],"counts":[4]}`},
		{"last two are one", metrics.Float64Histogram{Counts: []uint64{1, 4}, Buckets: []float64{0, 1, inf}}, `{"le_seconds":[1],"counts":[5]}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := string(appendHistogram(nil, &test.histogram)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
