package probe

import (
	"bufio"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/results"
)

const snapshotLine = `{"schema":"redline.runtime/1","subject":"fasthttp","title":"fasthttp 1.77.0","go":"go1.26.8",` +
	`"gomaxprocs":1,"goroutines":12,"alloc_objects":123,"alloc_bytes":456,"heap_bytes":789,"gc_cycles":3,` +
	`"pauses":{"le_seconds":[0.00001,0.002],"counts":[4,2]}}`

// serveControl answers each newline with the next line.
func serveControl(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "control")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ln.Close(); err != nil {
			t.Error(err)
		}
	})
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		in := bufio.NewReader(conn)
		for _, line := range lines {
			if b, err := in.ReadByte(); err != nil || b != '\n' {
				return
			}
			fmt.Fprintln(conn, line)
		}
	}()
	return path
}

func TestSnapshot(t *testing.T) {
	c, err := DialControl(serveControl(t, snapshotLine, strings.Replace(snapshotLine, `"goroutines":12`, `"goroutines":13`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	for _, goroutines := range []int{12, 13} {
		s, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if s.Goroutines != goroutines || s.Title != "fasthttp 1.77.0" || s.HeapBytes != 789 || len(s.Pauses.LE) != 2 {
			t.Errorf("snapshot %+v", s)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// A reply that comes too late is no answer to a later request, and the connection stays in use.
func TestSnapshotLate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "control")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := DialControl(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	say := func(text string) {
		t.Helper()
		if _, err := conn.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	say(snapshotLine[:20]) // half of the reply is there in time
	for range 2 {
		if s, err := c.Glance(); err == nil {
			t.Fatalf("%+v before an answer", s)
		}
	}
	say(snapshotLine[20:] + "\n" + snapshotLine + "\n" + strings.Replace(snapshotLine, `"goroutines":12`, `"goroutines":13`, 1) + "\n")
	if s, err := c.Snapshot(); err != nil || s.Goroutines != 13 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestSnapshotRefused(t *testing.T) {
	for name, line := range map[string]string{
		"schema":    strings.Replace(snapshotLine, "runtime/1", "runtime/2", 1),
		"histogram": strings.Replace(snapshotLine, "[4,2]", "[4]", 1),
		"latencies": strings.Replace(snapshotLine, `"gc_cycles"`, `"latencies":{"le_seconds":[1],"counts":[]},"gc_cycles"`, 1),
		"no JSON":   "hello",
		"too long":  strings.Repeat(" ", controlLine) + snapshotLine,
	} {
		t.Run(name, func(t *testing.T) {
			c, err := DialControl(serveControl(t, line, snapshotLine))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // a connection that failed is not used again
				if s, err := c.Snapshot(); err == nil {
					t.Errorf("%+v, want an error", s)
				}
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if _, err := DialControl(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no socket: no error")
	}
}

func TestSnapshotSince(t *testing.T) {
	earlier := Snapshot{
		AllocObjects: 100, AllocBytes: 1000, HeapBytes: 7, GCCycles: 2, Goroutines: 4,
		Pauses: Histogram{LE: []float64{0.0001, 0.5}, Counts: []uint64{10, 1}},
	}
	now := Snapshot{
		AllocObjects: 300, AllocBytes: 5000, HeapBytes: 77, GCCycles: 5, Goroutines: 44, GOMAXPROCS: 3,
		Pauses: Histogram{LE: []float64{0.0001, 0.0002, 0.004, 0.5}, Counts: []uint64{10, 98, 2, 1}},
	}
	want := results.Runtime{
		AllocsPerRequest: 2, BytesPerRequest: 40, GCCycles: 3, GCPauseP99Us: 4000,
		HeapBytes: 77, Goroutines: 44, GOMAXPROCS: 3,
	}
	got := now.Since(earlier, 100)
	if math.Abs(got.GCPauseP99Us-want.GCPauseP99Us) > 1e-6 {
		t.Errorf("p99 %v, want %v", got.GCPauseP99Us, want.GCPauseP99Us)
	}
	got.GCPauseP99Us = want.GCPauseP99Us
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := now.Since(now, 0); got.AllocsPerRequest != 0 || got.GCPauseP99Us != 0 || got.GCCycles != 0 {
		t.Errorf("nothing happened, but %+v", got)
	}
}

func TestHistogramP99(t *testing.T) {
	for _, c := range []struct {
		counts []uint64
		want   float64
	}{
		{[]uint64{0, 0, 0}, 0},
		{[]uint64{1, 0, 0}, 1},
		{[]uint64{99, 1, 0}, 1},
		{[]uint64{98, 2, 0}, 2},
		{[]uint64{0, 0, 1}, 3},
	} {
		if got := (Histogram{LE: []float64{1, 2, 3}, Counts: c.counts}).P99(); got != c.want {
			t.Errorf("p99 of %v = %v, want %v", c.counts, got, c.want)
		}
	}
}
