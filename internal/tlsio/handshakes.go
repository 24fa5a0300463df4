package tlsio

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// defaultQueue is the default number of handshakes that may wait.
const defaultQueue = 16 << 10

// Handshakes bounds the handshakes of a server. A handshake costs up to a millisecond of
// CPU time: if clients could start any number, requests on established connections would
// wait behind them. A handshake that waits for its client does not count as running.
type Handshakes struct {
	mu      sync.Mutex
	most    int // that run
	queued  int // that may wait to begin
	running int
	begun   []*handshake // have begun, and wait to continue
	queue   []*handshake // wait to begin

	full, resumed atomic.Uint64
	failed        [Causes]atomic.Uint64
}

// HandshakeStats are counters of handshakes since the start.
type HandshakeStats struct {
	Full, Resumed uint64 // successful ones, by kind
	Failed        [Causes]uint64
	Waiting       int // now, in the queue
}

// NewHandshakes returns a bound of running handshakes at a time, 0 meaning four for each
// CPU that the process may use, and of queued ones that wait to begin, 0 meaning 16,384.
func NewHandshakes(running, queued int) *Handshakes {
	if running <= 0 {
		running = 4 * runtime.GOMAXPROCS(0)
	}
	if queued <= 0 {
		queued = defaultQueue
	}
	return &Handshakes{most: running, queued: queued}
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
	case b.running < b.most:
		b.running++
		go h.run()
	case len(b.queue) >= b.queued:
		return false
	default:
		b.queue = append(b.queue, h)
	}
	return true
}

// again waits until a handshake that has waited for its client may continue. It goes before
// those that have not begun.
func (b *Handshakes) again(h *handshake) {
	b.mu.Lock()
	if b.running < b.most {
		b.running++
		b.mu.Unlock()
		return
	}
	b.begun = append(b.begun, h)
	b.mu.Unlock()
	<-h.turn
}

// done is called by a handshake that has ended, or waits for its client: another one may
// run.
func (b *Handshakes) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.begun) > 0 {
		h := b.begun[0]
		b.begun = drop(b.begun)
		h.turn <- struct{}{}
		return
	}
	for len(b.queue) > 0 {
		h := b.queue[0]
		b.queue = drop(b.queue)
		if !h.aborted() { // otherwise its connection has ended while it waited
			go h.run()
			return
		}
	}
	b.running--
}

// drop removes the first of a list, and the list's memory with the last.
func drop(list []*handshake) []*handshake {
	list[0] = nil
	if len(list) == 1 {
		return nil
	}
	return list[1:]
}
