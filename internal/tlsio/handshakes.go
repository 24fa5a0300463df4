package tlsio

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// defaultQueue is the default number of handshakes that may wait.
	defaultQueue = 16 << 10
	// computing is how long a handshake counts as running. It computes for a fraction of this:
	// one that takes longer waits, as functions of a tls.Config do for files or other servers.
	computing = 10 * time.Millisecond
	// maxSlow is how many handshakes for each that may run may take longer; more count.
	maxSlow = 32
)

// Handshakes bounds the handshakes of a server that compute. One costs up to a millisecond of
// CPU time: if clients could start any number, requests on established connections would
// wait behind them. A handshake that waits for its client does not count as running, and one
// that takes unusually long, slow, does so no longer.
type Handshakes struct {
	mu      sync.Mutex
	most    int // that run
	queued  int // that may wait to begin
	quantum time.Duration
	running []*handshake // by since
	slow    int
	begun   []*handshake // have begun, and wait to continue
	queue   []*handshake // wait to begin
	watched bool         // watch is going to be called

	full, resumed atomic.Uint64
	failed        [Causes]atomic.Uint64
}

// HandshakeStats are counters of handshakes since the start.
type HandshakeStats struct {
	Full, Resumed uint64 // successful ones, by kind
	Failed        [Causes]uint64
	Waiting       int // now, in the queue
}

// NewHandshakes returns a bound of running handshakes at a time, 0 meaning one for each CPU
// that the process may use, and of queued ones that wait to begin, 0 meaning 16,384.
func NewHandshakes(running, queued int) *Handshakes {
	if running <= 0 {
		running = runtime.GOMAXPROCS(0)
	}
	if queued <= 0 {
		queued = defaultQueue
	}
	return &Handshakes{most: running, queued: queued, quantum: computing}
}

// Stats returns the counters.
func (b *Handshakes) Stats() HandshakeStats {
	st := HandshakeStats{Full: b.full.Load(), Resumed: b.resumed.Load()}
	for i := range b.failed {
		st.Failed[i] = b.failed[i].Load()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	st.Waiting = len(b.queue)
	return st
}

// begin starts a handshake, or queues it. It reports false if the queue is full.
func (b *Handshakes) begin(h *handshake) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case len(b.begun)+len(b.queue) == 0 && b.admit(h):
		go h.run()
	case len(b.queue) >= b.queued:
		return false
	default:
		b.queue = append(b.queue, h)
		b.next()
		b.watch()
	}
	return true
}

// again waits until a handshake that has waited for its client may continue. It goes before
// those that have not begun.
func (b *Handshakes) again(h *handshake) {
	b.mu.Lock()
	if len(b.begun) == 0 && b.admit(h) {
		b.mu.Unlock()
		return
	}
	b.begun = append(b.begun, h)
	b.next()
	b.watch()
	b.mu.Unlock()
	<-h.turn
}

// done is called by a handshake that has ended, or waits for its client: another one may
// run.
func (b *Handshakes) done(h *handshake) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.running, h); i >= 0 {
		b.running = slices.Delete(b.running, i, i+1)
	} else {
		b.slow--
	}
	b.next()
}

// next lets those run that wait, as far as possible.
func (b *Handshakes) next() {
	for len(b.begun) > 0 {
		h := b.begun[0]
		if !b.admit(h) {
			return
		}
		b.begun = drop(b.begun)
		h.turn <- struct{}{}
	}
	for len(b.queue) > 0 {
		h := b.queue[0]
		if gone := h.aborted(); !gone && !b.admit(h) {
			return
		} else if b.queue = drop(b.queue); !gone {
			go h.run()
		}
	}
}

// admit counts a handshake as running, unless too many run.
func (b *Handshakes) admit(h *handshake) bool {
	now := time.Now()
	if len(b.running) >= b.most {
		if now.Sub(b.running[0].since) < b.quantum || b.slow >= maxSlow*b.most {
			return false
		}
		b.running = slices.Delete(b.running, 0, 1)
		b.slow++
	}
	h.since = now
	b.running = append(b.running, h)
	return true
}

// watch makes sure that those that wait do so no longer than the slow ones count.
func (b *Handshakes) watch() {
	if b.watched || len(b.begun)+len(b.queue) == 0 {
		return
	}
	b.watched = true
	time.AfterFunc(b.quantum, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.watched = false
		b.next()
		b.watch()
	})
}

// drop removes the first of a list, and the list's memory with the last.
func drop(list []*handshake) []*handshake {
	list[0] = nil
	if len(list) == 1 {
		return nil
	}
	return list[1:]
}
