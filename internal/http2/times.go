package http2

import (
	"math"
	"sync"
	"time"

	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/learn"
)

// times are those of the handlers that run inline, one after the other.
type times struct {
	at      int64        // when the last one returned, on the clock's scale
	watch   *learn.Watch // of the one that runs; nil if it has none
	overran learn.Watch  // tells it
}

// slow is how long a handler has run, at least, if it is why the loop was taken over. The
// watchdog looks twice within that time or more, so a call that has just begun is none.
const slow = 500 * time.Microsecond

// fed begins a feed.
func (t *times) fed() { t.at = clock.Nano() }

// Watch implements exchange.Session.
func (st *stream) Watch(w *learn.Watch) {
	s := st.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if !st.inline {
		return
	}
	if s.times.watch = w; w == nil {
		return
	}
	if s.times.overran.Overran == nil {
		s.times.overran.Overran = func(*learn.Watch) { s.overran() }
	}
	s.conn.Watch(&s.times.overran)
}

// overran tells the watch of the handler that runs inline, if it has run for most of the time
// for which the feed has. It is called before Left.
func (s *Session) overran() {
	if !s.mu.TryLock() {
		return // handlers run without the lock
	}
	w := s.times.watch
	late := s.inline != nil && clock.Refresh()-s.times.at >= int64(slow)
	s.mu.Unlock()
	if late && w != nil {
		w.Overran(w)
	}
}

// Held implements exchange.Session. The handlers of one feed are timed from the end of one
// to the end of the next, which costs one look at the clock each.
func (st *stream) Held() time.Duration {
	st.s.mu.Lock()
	defer st.s.unlock()
	if !st.inline {
		return 0
	}
	now := clock.Refresh()
	held := time.Duration(now - st.s.times.at)
	st.s.times.at, st.s.times.watch = now, nil
	return held
}

// Stretch implements exchange.Session.
func (st *stream) Stretch() time.Duration {
	st.s.mu.Lock()
	defer st.s.unlock()
	st.took()
	longest := st.stretch
	st.stretch = 0
	return longest
}

// took ends a stretch, and begins the next.
func (st *stream) took() {
	now := clock.Refresh()
	st.stretch = max(st.stretch, time.Duration(now-st.began))
	st.began = now
}

// A limit bounds the waits of one exchange in one direction. With its zero value,
// StallTimeout bounds them.
type limit struct {
	by    int64 // on the clock's scale; 0 is never
	asked bool  // set by the handler: then nothing else bounds them
	idle  time.Duration
	since int64 // idle was last set to zero, on the clock's scale
	came  int   // bytes since then
}

func ask(t time.Time) limit {
	if t.IsZero() {
		return limit{asked: true}
	}
	return limit{by: clock.After(time.Until(t)), asked: true}
}

// SetReadDeadline implements exchange.Session.
func (st *stream) SetReadDeadline(t time.Time) {
	st.s.mu.Lock()
	defer st.s.unlock()
	st.readLimit = ask(t)
	st.notify()
}

// SetWriteDeadline implements exchange.Session.
func (st *stream) SetWriteDeadline(t time.Time) {
	st.s.mu.Lock()
	defer st.s.unlock()
	st.writeLimit = ask(t)
	st.expect()
	st.notify()
}

// Share implements exchange.Session.
func (st *stream) Share(l sync.Locker) {
	st.s.mu.Lock()
	st.shared = l
	st.s.unlock()
}

// patience is how long one wait may take; negative means that the time is over, and 0 that
// nothing bounds it.
func (st *stream) patience(l *limit) time.Duration {
	d := time.Duration(0)
	if stall := st.s.cfg.StallTimeout; stall > 0 && !l.asked {
		if d = stall - l.idle; d <= 0 {
			return -1
		}
	}
	if l.by == 0 {
		return d
	}
	left := time.Duration(l.by - clock.Refresh())
	switch {
	case left <= 0:
		return -1
	case d == 0 || left < d:
		return left
	}
	return d
}

// progress counts bytes that have moved; pace is how many have to move within each
// StallTimeout of waiting.
func (l *limit) progress(n, pace int) {
	if l.came += n; l.came >= pace {
		l.restart()
	}
}

// restart makes idle begin again.
func (l *limit) restart() { l.came, l.idle, l.since = 0, 0, clock.Refresh() }

// excuse forgets the time for which output has waited, if the client has opened the stream's
// window and was sent the output of other streams meanwhile.
func (st *stream) excuse() {
	if st.send > 0 && st.paces != st.s.paces {
		st.paces = st.s.paces
		st.writeLimit.restart()
	}
}

// wait waits until something has changed for the stream, or the time is over. s.mu is held,
// and the handler's lock if it has one; both are released meanwhile. The handler must not be
// inline.
func (st *stream) wait(l *limit) error {
	s := st.s
	d := st.patience(l)
	if d < 0 {
		return exchange.ErrTimeout
	}
	st.took()
	if st.moved == nil {
		st.moved = newCondition(&s.mu)
	}
	st.moved.within(d)
	shared := st.shared
	if shared != nil {
		shared.Unlock()
	}
	began := clock.Refresh()
	st.moved.Wait()
	now := clock.Refresh()
	if shared != nil {
		s.unlock()
		shared.Lock()
		s.mu.Lock()
	}
	l.idle += time.Duration(now - max(began, l.since))
	st.began = clock.Refresh()
	return nil
}

// A condition is what the goroutines of one exchange wait for. One alarm bounds all waits: it
// may wake them too early, which is why they look again.
type condition struct {
	sync.Cond
	alarm
}

func newCondition(mu *sync.Mutex) *condition { return &condition{Cond: sync.Cond{L: mu}} }

// within makes a wait that begins now end after d at the latest, or whenever it does if d is 0.
// The lock is held.
func (c *condition) within(d time.Duration) {
	if d <= 0 {
		return
	}
	now := clock.Refresh()
	at := now + int64(d)
	if at < now {
		at = math.MaxInt64
	}
	c.set(at, c.ring)
}

func (c *condition) ring() {
	c.L.Lock()
	defer c.L.Unlock()
	c.at = 0
	c.Broadcast()
}
