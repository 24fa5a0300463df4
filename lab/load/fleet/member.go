package fleet

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/load/tally"
)

// member is what the coordinator knows of a worker.
type member struct {
	id      string
	join    Join
	share   Share
	offset  estimate
	heard   int64         // last, agreed time
	heardAt time.Duration // the same in the coordinator's presence
	trouble string

	ready   bool
	startAt int64 // on its own clock
	late    int64 // by which it began
	window  int64 // its beginning, agreed time; 0: it is not there
	passed  int64 // end of its last tick, agreed time
	dropped uint64

	// Of the ticks of its window.
	seconds  float64
	requests uint64
	errors   uint64
	hist     *hdrhistogram.Histogram // nil without
	unheard  uint64                  // requests of ticks that had none

	result   json.RawMessage // nil until there
	lost     *loss
	lossTold bool // that it is lost was told
}

// loss is the end of a worker before its time.
type loss struct {
	at    int64 // agreed time
	Cause string
}

// name is what it is called in words.
func (w *member) name() string {
	return fmt.Sprintf("worker %d (process %d on %s)", w.share.Index, w.join.PID, w.join.Host)
}

// working reports whether there is more to come from it.
func (w *member) working() bool { return w != nil && w.lost == nil && w.result == nil }

// hear takes note that it lives.
func (w *member) hear(c *coordinator, m *Message) {
	w.heard, w.heardAt = c.clock.at(m.Arrived), c.watched.now()
}

// lose marks it as lost, once: of two causes the first is the nearer one.
func (w *member) lose(at int64, cause string) {
	if w.working() {
		w.lost = &loss{at, cause}
	}
}

// agreed is a time of its clock on the agreed one.
func (w *member) agreed(t int64) int64 { return t - w.offset.Nanoseconds }

// report reads an event of its generator.
func (w *member) report(c *coordinator, r *Report) {
	if !w.working() {
		return
	}
	w.dropped = max(w.dropped, r.Dropped)
	var e event
	err := json.Unmarshal(r.Event, &e)
	if err == nil {
		switch {
		case e.Window:
			w.window = w.agreed(r.At)
		case e.Tick != nil:
			err = w.tick(c, r.At, e.Tick)
		case e.Result != nil:
			w.result = e.Result
		}
	}
	if err != nil {
		w.lose(w.heard, fmt.Sprintf("it reported what cannot be read: %v", err))
	}
}

// tick adds a tick to the common series and to what is known of a worker that
// may never come to a result. The times of ticks within the window are the
// generator's own, those of before the times at which they were emitted.
func (w *member) tick(c *coordinator, at int64, t *tick) error {
	to := w.agreed(at)
	if w.window != 0 {
		to = w.window + int64(t.T*1e9)
	}
	from := to - int64(t.Seconds*1e9)
	c.series.add(from-c.start, to-c.start, t)
	w.passed = max(w.passed, to)
	if w.window == 0 {
		return nil
	}
	w.seconds += t.Seconds
	w.requests += t.Requests
	w.errors += t.Errors
	if t.Counts == "" {
		w.unheard += t.Requests
		return nil
	}
	if w.hist == nil {
		w.hist = tally.DeltaHistogram()
	}
	return tally.MergeDelta(w.hist, t.Counts)
}

// through reports whether its window is over, or it will not come to an end of it.
func (w *member) through(window int64) bool {
	const late = int64(time.Millisecond) // times on the wire are rounded
	return !w.working() || w.window != 0 && w.passed >= w.window+window-late
}

// merge adds the samples of one histogram to another.
func merge(to, from *hdrhistogram.Histogram) error {
	if lost := to.Merge(from); lost > 0 {
		return fmt.Errorf("merge histograms: %d samples beyond the range", lost)
	}
	return nil
}

// show passes points to OnPoint that no worker will add to: all that live have
// passed them. At the end that is all of them.
func (c *coordinator) show(all bool) {
	if c.plan.OnPoint == nil {
		return
	}
	end := int64(len(c.series.bins))
	c.each(func(w *member) {
		if w.working() && !all {
			end = min(end, max(0, w.passed-c.start)/c.series.width)
		}
	})
	for ; c.shown < int(end); c.shown++ {
		c.plan.OnPoint(c.series.point(c.shown))
	}
}
