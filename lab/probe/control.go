package probe

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/redline-go/redline/lab/results"
)

// Schema is the value of Snapshot.Schema; no other is accepted.
const Schema = "redline.runtime/1"

const (
	dialTimeout = 2 * time.Second
	controlLine = 64 << 10 // longest line; a snapshot has a few KiB

	// patience limits the wait for a snapshot that a run needs. A subject at its limit on a busy
	// machine answers late, and its run must not be lost for that.
	patience = 30 * time.Second
	// glance limits the wait for one that a run can do without.
	glance = 100 * time.Millisecond
)

// Snapshot has the counters of a subject's Go runtime since the subject started.
type Snapshot struct {
	Schema       string    `json:"schema"`
	Subject      string    `json:"subject"`
	Title        string    `json:"title"` // name and version
	Go           string    `json:"go"`
	GOMAXPROCS   int       `json:"gomaxprocs"`
	Goroutines   int       `json:"goroutines"`
	AllocObjects uint64    `json:"alloc_objects"`
	AllocBytes   uint64    `json:"alloc_bytes"`
	HeapBytes    uint64    `json:"heap_bytes"` // in use now
	GCCycles     uint64    `json:"gc_cycles"`
	Pauses       Histogram `json:"pauses"` // of the garbage collector, seconds

	// These are 0 or empty if the source does not provide them. CPU times are those that
	// the runtime computes at the end of each collection: compare them only with each
	// other.
	LiveBytes      uint64    `json:"live_bytes"`       // in use according to the last collection
	GCCPUSeconds   float64   `json:"gc_cpu_seconds"`   // spent on garbage collection
	IdleCPUSeconds float64   `json:"idle_cpu_seconds"` // part of CPUSeconds that was idle
	CPUSeconds     float64   `json:"cpu_seconds"`      // available according to GOMAXPROCS
	Latencies      Histogram `json:"latencies"`        // of the scheduler: time that goroutines were runnable before they ran, seconds
	Profiles       []string  `json:"profiles"`         // that the socket offers
}

// Histogram is a histogram of the runtime. Empty buckets may be missing.
type Histogram struct {
	LE     []float64 `json:"le_seconds"` // upper bounds
	Counts []uint64  `json:"counts"`     // one for each bound
}

// Control is a connection to a subject's control socket. It is safe for concurrent use.
type Control struct {
	mu     sync.Mutex
	conn   net.Conn
	in     *bufio.Reader
	late   int   // replies that were not waited for any longer, and may still arrive
	broken error // of the first exchange that failed
}

// DialControl connects to the control socket at path, with a timeout of two seconds.
func DialControl(path string) (*Control, error) {
	conn, err := net.DialTimeout("unix", path, dialTimeout)
	if err != nil {
		return nil, fmt.Errorf("dial control socket: %w", err)
	}
	return &Control{conn: conn, in: bufio.NewReaderSize(conn, controlLine)}, nil
}

// Snapshot requests the current state, with a timeout of 30 seconds. A reply that is too late is
// discarded by the next call; after any other error the connection is unusable, and every later
// call returns that error.
func (c *Control) Snapshot() (Snapshot, error) { return c.within(patience) }

// Glance is Snapshot with a timeout of a tenth of a second, for points of a series.
func (c *Control) Glance() (Snapshot, error) { return c.within(glance) }

func (c *Control) within(timeout time.Duration) (Snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return Snapshot{}, c.broken
	}
	s, err := c.exchange(timeout)
	if err == nil {
		return s, nil
	}
	err = fmt.Errorf("read snapshot: %w", err)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		c.broken = err
	}
	return s, err
}

func (c *Control) exchange(timeout time.Duration) (s Snapshot, err error) {
	if err := c.conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return s, err
	}
	if _, err := c.conn.Write([]byte{'\n'}); err != nil {
		return s, err
	}
	c.late++
	var line []byte
	for c.late > 0 { // the last reply is that to the last request
		// What ReadSlice has read of a line when the time is over is lost, and the rest counts as the
		// whole: all of it is discarded, because another reply follows.
		if line, err = c.in.ReadSlice('\n'); err != nil {
			return s, err
		}
		c.late--
	}
	if err := json.Unmarshal(line, &s); err != nil {
		return Snapshot{}, err
	}
	switch {
	case s.Schema != Schema:
		err = fmt.Errorf("schema %q, want %q", s.Schema, Schema)
	case len(s.Pauses.LE) != len(s.Pauses.Counts) || len(s.Latencies.LE) != len(s.Latencies.Counts):
		err = errors.New("histogram with unequal numbers of bounds and counts")
	default:
		return s, nil
	}
	return Snapshot{}, err
}

// Close closes the connection.
func (c *Control) Close() error { return c.conn.Close() }

// Since returns what the runtime counted between an earlier snapshot of the same process
// and s, during which the subject answered that many requests.
func (s Snapshot) Since(earlier Snapshot, requests uint64) results.Runtime {
	rt := results.Runtime{
		GCCycles:     s.GCCycles - min(s.GCCycles, earlier.GCCycles),
		GCPauseP99Us: s.Pauses.Since(earlier.Pauses).P99() * 1e6,
		HeapBytes:    s.HeapBytes,
		Goroutines:   s.Goroutines,
		GOMAXPROCS:   s.GOMAXPROCS,
	}
	if requests > 0 {
		each := func(now, then uint64) float64 { return float64(now-min(now, then)) / float64(requests) }
		rt.AllocsPerRequest = each(s.AllocObjects, earlier.AllocObjects)
		rt.BytesPerRequest = each(s.AllocBytes, earlier.AllocBytes)
	}
	return rt
}

// Since subtracts an earlier state of h, bucket by bucket. Bounds are matched by value: a
// bucket that was empty earlier is not in that list.
func (h Histogram) Since(earlier Histogram) Histogram {
	counts := map[float64]uint64{}
	for i, le := range h.LE {
		counts[le] += h.Counts[i]
	}
	for i, le := range earlier.LE {
		counts[le] -= min(counts[le], earlier.Counts[i])
	}
	var d Histogram
	for _, le := range slices.Sorted(maps.Keys(counts)) {
		d.LE, d.Counts = append(d.LE, le), append(d.Counts, counts[le])
	}
	return d
}

// P99 returns the upper bound of the bucket that contains the 99th percentile, in seconds;
// 0 without samples. The bounds are in ascending order.
func (h Histogram) P99() float64 {
	var total, sum uint64
	for _, n := range h.Counts {
		total += n
	}
	rank := uint64(math.Ceil(float64(total) * 0.99))
	for i, n := range h.Counts {
		if sum += n; n > 0 && sum >= rank {
			return h.LE[i]
		}
	}
	return 0
}
