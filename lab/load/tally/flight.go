package tally

import (
	"time"

	"github.com/redline-go/redline/lab/load/spec"
)

// Flight measures how many requests are in flight: sent, at least in part, and neither
// answered nor failed. The zero value is ready for use. Times are nanoseconds of one clock.
type Flight struct {
	n     int64
	at    int64 // until then it is counted
	tick  flown
	whole flown

	since  int64 // since when some are in flight, and none was answered or failed
	silent Gaps
}

// flown is what was in flight over some time.
type flown struct {
	from int64
	area float64 // requests times nanoseconds
	most int64
}

// Add counts n requests that were sent, or with a negative n were answered or failed.
func (f *Flight) Add(n int, now int64) {
	f.advance(now)
	if n < 0 || f.n == 0 {
		f.hear(now)
	}
	f.n = max(f.n+int64(n), 0)
	f.tick.most = max(f.tick.most, f.n)
}

// Count returns how many there are.
func (f *Flight) Count() int64 { return f.n }

// advance counts until now. A time before the last one counts as that.
func (f *Flight) advance(now int64) {
	if now > f.at {
		f.tick.area += float64(f.n) * float64(now-f.at)
		f.at = now
	}
}

// minSilence is the length from which on a silence is kept.
const minSilence = int64(100 * time.Millisecond)

// hear ends a silence.
func (f *Flight) hear(now int64) {
	if f.n > 0 && now-f.since >= minSilence {
		f.silent.Add(f.since, now)
	}
	f.since = now
}

// Skip leaves a time that has just passed out of the present silence: nobody listened.
func (f *Flight) Skip(ns int64) { f.since += ns }

// Silences returns the longest times until now, of the window, in which requests were in flight and
// none was answered or failed, from a tenth of a second on.
func (f *Flight) Silences(now int64) []spec.Gap {
	f.hear(now)
	return f.silent.Result()
}

// Begin opens the window, which ends at a time.
func (f *Flight) Begin(now, end int64) {
	f.silent = NewGaps(now, end)
	f.advance(now)
	f.tick = flown{from: now, most: f.n}
	f.whole = f.tick
}

// Take returns the mean and the maximum since the last call, and begins the next tick.
func (f *Flight) Take(now int64) (mean float64, most uint64) {
	f.advance(now)
	mean, most = f.tick.mean(now), uint64(f.tick.most)
	f.whole.area += f.tick.area
	f.whole.most = max(f.whole.most, f.tick.most)
	f.tick = flown{from: now, most: f.n}
	return mean, most
}

// Window returns the mean and the maximum from Begin until the last call of Take.
func (f *Flight) Window() (mean float64, most uint64) {
	return f.whole.mean(f.tick.from), uint64(f.whole.most)
}

func (w *flown) mean(to int64) float64 {
	if to <= w.from {
		return 0
	}
	return w.area / float64(to-w.from)
}
