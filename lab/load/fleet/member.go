package fleet

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/load/tally"
)

// member is the coordinator's state of a worker.
type member struct {
	id      string
	join    Join
	share   Share
	offset  estimate
	heard   int64         // time of its last message, agreed time
	heardAt time.Duration // the same on the axis of coordinator.awake
	trouble string        // the last error of a send to it

	ready   bool
	startAt int64 // on its own clock
	late    int64 // delay of its start, nanoseconds
	window  int64 // beginning of its window, agreed time; 0: not begun
	passed  int64 // end of its last tick, agreed time
	dropped uint64

	// Totals of the ticks of its window.
	seconds   float64
	requests  uint64
	errors    uint64
	hist      *hdrhistogram.Histogram // nil if no tick had a histogram
	unsampled uint64                  // requests of ticks without a histogram

	result       json.RawMessage // nil until received
	lost         *loss
	lossReported bool // OnLost was called
}

// loss is the premature end of a worker.
type loss struct {
	at    int64 // agreed time
	Cause string
}

// name identifies the worker in messages.
func (w *member) name() string {
	return fmt.Sprintf("worker %d (process %d on %s)", w.share.Index, w.join.PID, w.join.Host)
}

// working reports whether the worker has joined and has neither a result nor a loss.
func (w *member) working() bool { return w != nil && w.lost == nil && w.result == nil }

// hear records the time of a message.
func (w *member) hear(c *coordinator, m *Message) {
	w.heard, w.heardAt = c.clock.at(m.Arrived), c.awake.now()
}

// lose marks the worker as lost. Only the first cause is kept.
func (w *member) lose(at int64, cause string) {
	if w.working() {
		w.lost = &loss{at, cause}
	}
}

// agreed converts a time of the worker's clock to the agreed one.
func (w *member) agreed(t int64) int64 { return t - w.offset.Nanoseconds }

// report handles an event of the worker's generator.
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
		w.lose(w.heard, fmt.Sprintf("its report cannot be read: %v", err))
	}
}

// tick adds a tick to the common series, and to the worker's totals, which are used if it is
// lost. Ticks of the window have the generator's times; earlier ones have the times at which
// they were emitted.
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
		w.unsampled += t.Requests
		return nil
	}
	if w.hist == nil {
		w.hist = tally.DeltaHistogram()
	}
	return tally.MergeDelta(w.hist, t.Counts)
}

// through reports whether the worker's window is over, or the worker is lost.
func (w *member) through(window int64) bool {
	const late = int64(time.Millisecond) // times in messages are rounded
	return !w.working() || w.window != 0 && w.passed >= w.window+window-late
}

// merge adds the samples of one histogram to another.
func merge(to, from *hdrhistogram.Histogram) error {
	if lost := to.Merge(from); lost > 0 {
		return fmt.Errorf("merge histograms: %d samples beyond the range", lost)
	}
	return nil
}

// show passes complete points to OnPoint: those that all remaining workers have passed, or
// all points at the end.
func (c *coordinator) show(all bool) {
	if c.plan.OnPoint == nil {
		return
	}
	end := int64(len(c.series.bins))
	c.each(func(w *member) {
		if w.working() && !all {
			end = min(end, c.series.whole(w.passed-c.start, w.through(int64(c.plan.Window))))
		}
	})
	for ; c.shown < int(end); c.shown++ {
		c.plan.OnPoint(c.series.point(c.shown))
	}
}

// refuse sends Stop to a worker that cannot join. An unreachable worker stops when it
// receives nothing more.
func (c *coordinator) refuse(m *Message, why string) {
	note := fmt.Sprintf("process %d on %s was refused: %s", m.Join.PID, m.Join.Host, why)
	if err := c.carrier.Send(m.From, &Message{Stop: &Stop{Why: why}}); err != nil {
		note += fmt.Sprintf(" (and could not be notified: %v)", err)
	}
	if !c.refused[m.From] && len(c.notes) < maxNotes {
		c.notes = append(c.notes, note)
	}
	c.refused[m.From] = true
}
