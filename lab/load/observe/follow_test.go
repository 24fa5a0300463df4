package observe

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/probe"
)

// scripted is a source whose answers are controlled by the test.
type scripted struct {
	asked   chan struct{}
	answers chan any // a probe.Snapshot or an error
	every   time.Duration
}

func newScripted() *scripted {
	return &scripted{asked: make(chan struct{}, 10), answers: make(chan any, 10)}
}

func (s *scripted) Name() string         { return "scripted" }
func (s *scripted) Every() time.Duration { return s.every }
func (s *scripted) Close() error         { return nil }

func (s *scripted) Snapshot(ctx context.Context) (probe.Snapshot, error) {
	s.asked <- struct{}{}
	select {
	case <-ctx.Done():
		return probe.Snapshot{}, ctx.Err()
	case a := <-s.answers:
		if err, ok := a.(error); ok {
			return probe.Snapshot{}, err
		}
		return a.(probe.Snapshot), nil
	}
}

func TestFollower(t *testing.T) {
	s := newScripted()
	f := Follow(t.Context(), s)
	defer f.Close()
	const long = time.Minute

	s.answers <- probe.Snapshot{Goroutines: 1}
	if r := f.Ask(Moment{T: -1}, false, long); r == nil || r.T != -1 || r.Snapshot.Goroutines != 1 {
		t.Fatalf("%+v", r)
	}
	<-s.asked

	// Late: the call that made the query continues without a reply, and no other query is
	// made in the meantime.
	if r := f.Ask(Moment{T: 1}, false, 0); r != nil {
		t.Fatalf("%+v", r)
	}
	<-s.asked
	if r := f.Ask(Moment{T: 2}, true, 0); r != nil || len(s.asked) != 0 {
		t.Fatalf("%+v, asked %d times", r, len(s.asked))
	}
	s.answers <- probe.Snapshot{Goroutines: 2}
	if r := f.Ask(Moment{T: 3}, false, long); r == nil || r.T != 1 || r.Snapshot.Goroutines != 2 {
		t.Fatalf("%+v", r)
	}

	// Failed: counted, and not queried for a while except at the edges of the window.
	s.answers <- errors.New("gone")
	if r := f.Ask(Moment{T: 4}, false, long); r != nil {
		t.Fatalf("%+v", r)
	}
	<-s.asked
	if n, err := f.Misses(); n != 1 || err == nil || err.Error() != "gone" {
		t.Errorf("%d misses, %v", n, err)
	}
	f.due = time.Now().Add(time.Hour)
	if r := f.Ask(Moment{T: 5}, false, long); r != nil || len(s.asked) != 0 {
		t.Errorf("%+v, asked %d times", r, len(s.asked))
	}
	s.answers <- probe.Snapshot{Goroutines: 3}
	if r := f.Ask(Moment{T: 6}, true, long); r == nil || r.T != 6 {
		t.Errorf("%+v", r)
	}
	<-s.asked

	// A pending query is missing at the end of the load, and does not delay it.
	if r := f.Ask(Moment{T: 7}, true, time.Millisecond); r != nil {
		t.Errorf("%+v", r)
	}
	if n, err := f.Misses(); n != 2 || !errors.Is(err, errLate) {
		t.Errorf("%d misses, %v", n, err)
	}
}

// A source is not queried more often than its interval.
func TestFollowerEvery(t *testing.T) {
	s := newScripted()
	s.every = time.Hour
	f := Follow(t.Context(), s)
	defer f.Close()
	s.answers <- probe.Snapshot{}
	if r := f.Ask(Moment{}, false, time.Minute); r == nil {
		t.Fatal("no reading")
	}
	if r := f.Ask(Moment{T: 1}, false, 10*time.Second); r != nil || len(s.asked) != 1 {
		t.Errorf("%+v, asked %d times", r, len(s.asked))
	}
}

// reading returns a reading the given number of seconds after the first.
func reading(t float64, answered uint64, s probe.Snapshot) *Reading {
	return &Reading{Moment: Moment{t, answered}, At: time.Unix(1000, 0).Add(time.Duration(t * float64(time.Second))), Snapshot: s}
}

func TestRecord(t *testing.T) {
	hist := func(le float64, n uint64) probe.Histogram {
		return probe.Histogram{LE: []float64{le}, Counts: []uint64{n}}
	}
	var r Record
	var warm, one, two present.Point
	r.Point(reading(-1, 0, probe.Snapshot{AllocObjects: 50, AllocBytes: 500, Goroutines: 99}), &warm)
	r.Edge(reading(0, 0, probe.Snapshot{AllocObjects: 100, AllocBytes: 1000, GCCycles: 1, CPUSeconds: 10, IdleCPUSeconds: 4, GCCPUSeconds: 1, Latencies: hist(1e-5, 5)}))
	if got := r.Runtime("control"); got != nil {
		t.Errorf("of one reading: %+v", got)
	}
	r.Point(reading(1, 20, probe.Snapshot{AllocObjects: 200, AllocBytes: 3000, GCCycles: 2, Goroutines: 12, HeapBytes: 70, LiveBytes: 60}), &one)
	r.Point(reading(2, 50, probe.Snapshot{AllocObjects: 500, AllocBytes: 9000, GCCycles: 2, Goroutines: 10, HeapBytes: 80, LiveBytes: 61, Latencies: hist(2e-5, 7)}), &two)
	r.Edge(reading(4, 100, probe.Snapshot{
		AllocObjects: 1100, AllocBytes: 21000, GCCycles: 5, Goroutines: 3, HeapBytes: 90, CPUSeconds: 22, IdleCPUSeconds: 8, GCCPUSeconds: 3,
		Title: "shop", Go: "go1", Latencies: hist(1e-5, 15), Pauses: hist(1e-4, 3),
	}))
	if warm.Goroutines != 99 || warm.Runtime.AllocsPerSecond != 0 {
		t.Errorf("first point %+v, %+v", warm, warm.Runtime)
	}
	if one.Runtime.AllocsPerSecond != 100 || one.Runtime.BytesPerSecond != 2000 || one.Runtime.GCCycles != 1 || one.Goroutines != 12 || one.Runtime.HeapBytes != 70 {
		t.Errorf("point %+v, %+v", one, one.Runtime)
	}
	if two.Runtime.AllocsPerSecond != 300 || two.Runtime.SchedLatencyP99Us < 19 {
		t.Errorf("point %+v", two.Runtime)
	}
	got := r.Runtime("control")
	if got == nil || got.AllocsPerRequest != 10 || got.BytesPerRequest != 200 || got.AllocsPerSecond != 250 || got.BytesPerSecond != 5000 || got.Seconds != 4 {
		t.Fatalf("%+v", got)
	}
	// Momentary values are those under load; the peak of the warm-up is not included.
	if got.Goroutines != 10 || got.GoroutinesPeak != 12 || got.HeapBytes != 80 || got.LiveBytes != 61 || got.GCCycles != 4 || got.Title != "shop" || got.Go != "go1" {
		t.Errorf("%+v", got)
	}
	if got.GCCPURatio == nil || *got.GCCPURatio != 0.25 || got.SchedLatencyP99Us == nil || *got.SchedLatencyP99Us < 9.9 || *got.SchedLatencyP99Us > 10.1 {
		t.Errorf("GC %v, scheduler %v", got.GCCPURatio, got.SchedLatencyP99Us)
	}
}

// A server that restarted in the window has no counts; one that restarted before has.
func TestRecordRestarted(t *testing.T) {
	var r Record
	var p present.Point
	r.Point(reading(-1, 0, probe.Snapshot{AllocObjects: 900}), &p)
	r.Edge(reading(0, 0, probe.Snapshot{AllocObjects: 100}))
	r.Point(reading(1, 1, probe.Snapshot{AllocObjects: 150}), &p)
	if got := r.Runtime("control"); got == nil || got.Restarted || got.AllocsPerRequest != 50 || got.GCCPURatio != nil || got.SchedLatencyP99Us != nil {
		t.Errorf("%+v", got)
	}
	p = present.Point{}
	r.Point(reading(2, 2, probe.Snapshot{AllocObjects: 5}), &p)
	if got := r.Runtime("control"); !got.Restarted || got.AllocsPerRequest != 0 || p.Runtime.AllocsPerSecond != 0 {
		t.Errorf("%+v, point %+v", got, p.Runtime)
	}
}
