package bpf

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// The programs that cost much are always attached unless the processes are busy, and then for
// a window of each period, a twentieth of the time. They are not busy again at half the rate.
const (
	busyRate = 2000 // system calls and completions of io_uring each second
	look     = time.Second
	period   = 2 * time.Second
	opening  = 100 * time.Millisecond
)

// sampling decides when the programs are attached that cost much, and scales what they count.
//
//	          ┌─ open, always ─┐   busy: a window of each period
//	events    ████████████████████·········██·········██·········██·····
//	folds     ▲    ▲    ▲    ▲    ▲              ▲          ▲          ▲
//	          each reading: as counted           the first reading after a window: scaled
type sampling struct {
	estimate Counts        // the sampled counters so far
	before   Counts        // the reading of the last fold
	busy     bool          // the programs are attached in windows
	open     bool          // they are attached
	gaps     bool          // they were not always attached since the last fold
	since    time.Time     // when the window opened, or of the last fold in it
	observed time.Duration // in windows that are closed, since the last fold
	checked  Counts        // the reading of the last look at the rate
}

// begin begins with a window that does not close.
func (s *sampling) begin(now Counts) {
	s.open, s.since = true, now.At.Add(-now.Span)
	s.before = Counts{At: s.since}
	s.checked = s.before
}

// ready reports whether what was counted can be scaled: not within a window of several.
func (s *sampling) ready() bool { return !s.busy || !s.open && s.observed > 0 }

// fold adds what was counted since the last fold to the estimate.
func (s *sampling) fold(now Counts) {
	d := now.Sub(s.before)
	if s.open {
		s.observed += now.At.Sub(s.since)
		s.since = now.At
	}
	by := 1.0
	if !s.gaps {
		s.observed = d.Span
	} else if s.observed > 0 {
		by = d.Span.Seconds() / s.observed.Seconds()
	}
	s.estimate.addScaled(&d, by)
	s.estimate.Scaled.Readings++
	s.estimate.Scaled.Seconds += d.Span.Seconds()
	s.estimate.Scaled.Observed += s.observed.Seconds()
	s.before, s.observed, s.gaps = now, 0, !s.open
}

// shut notes the end of a window.
func (s *sampling) shut(at time.Time) {
	s.observed += at.Sub(s.since)
	s.open, s.gaps = false, true
}

// rate returns the events a second since the last look.
func (s *sampling) rate(now Counts) float64 {
	span := now.At.Sub(s.checked.At).Seconds()
	n := now.Uring.Completed - s.checked.Uring.Completed
	for name, c := range now.Calls {
		n += c.Calls - s.checked.Calls[name].Calls
	}
	s.checked = now
	return float64(n) / max(span, 1e-3)
}

// turn attaches or detaches the programs as it is time to, and returns the time to the next turn.
func (s *Sampler) turn() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, err := s.decide()
	if err != nil {
		s.failed = fmt.Errorf("attach programs in windows: %w", err)
		return look
	}
	return next
}

func (s *Sampler) decide() (time.Duration, error) {
	m := &s.sampling
	if m.busy && !m.open {
		if err := s.source.observe(true); err != nil {
			return 0, err
		}
		m.open, m.since = true, s.clock()
		return opening, nil
	}
	ended := s.clock()
	if m.busy { // the window is as long as asked, whatever the reading takes
		if err := s.source.observe(false); err != nil {
			return 0, err
		}
		m.shut(ended)
	}
	now, err := s.source.read()
	if err != nil {
		return 0, err
	}
	rate := m.rate(now)
	switch {
	case m.busy && rate < busyRate/2:
		m.fold(now)
		m.busy = false
		if err := s.source.observe(true); err != nil {
			return 0, err
		}
		m.open, m.since = true, s.clock()
	case !m.busy && rate >= busyRate:
		m.fold(now)
		m.busy = true
		if err := s.source.observe(false); err != nil {
			return 0, err
		}
		m.shut(s.clock())
	}
	if m.busy {
		return period - opening, nil
	}
	return look, nil
}

// addScaled adds the sampled counters of a window, multiplied.
func (c *Counts) addScaled(d *Counts, by float64) {
	n := func(to *uint64, more uint64) { *to += uint64(math.Round(float64(more) * by)) }
	hist := func(to, more *Hist) {
		for i := range more.Buckets {
			n(&to.Buckets[i], more.Buckets[i])
		}
		to.Seconds += more.Seconds * by
	}
	if c.Calls == nil {
		c.Calls = map[string]Call{}
	}
	for name, more := range d.Calls {
		one := c.Calls[name]
		n(&one.Timed, more.Timed)
		one.TimedCPU += more.TimedCPU * by
		one.Off += more.Off * by
		one.Blocked += more.Blocked * by
		c.Calls[name] = one
	}
	hist(&c.Waited, &d.Waited)
	n(&c.Voluntary, d.Voluntary)
	n(&c.Involuntary, d.Involuntary)
	hist(&c.TCP.Unread, &d.TCP.Unread)
	n(&c.TCP.Sends, d.TCP.Sends)
	n(&c.TCP.SentBytes, d.TCP.SentBytes)
	n(&c.TCP.Receives, d.TCP.Receives)
	n(&c.TCP.ReceivedBytes, d.TCP.ReceivedBytes)
	n(&c.TCP.WindowClosed, d.TCP.WindowClosed)
	n(&c.Answers, d.Answers)
	n(&c.Queries, d.Queries)
	for i := range d.Peers {
		more := &d.Peers[i]
		at, known := findPeer(c.Peers, more)
		if !known {
			c.Peers = slices.Insert(c.Peers, at, Peer{Addr: more.Addr, Protocol: more.Protocol})
		}
		p := &c.Peers[at]
		n(&p.Sends, more.Sends)
		n(&p.SentBytes, more.SentBytes)
		n(&p.Receives, more.Receives)
		n(&p.ReceivedBytes, more.ReceivedBytes)
		hist(&p.Wait, &more.Wait)
	}
}

// estimated replaces the sampled counters by estimates. Calls and peers are copied: others have
// them too.
func (c *Counts) estimated(e *Counts) {
	c.Calls, c.Peers = maps.Clone(c.Calls), slices.Clone(c.Peers)
	c.Scaled, c.Waited, c.Voluntary, c.Involuntary = e.Scaled, e.Waited, e.Voluntary, e.Involuntary
	c.Answers, c.Queries = e.Answers, e.Queries
	for name, one := range c.Calls {
		from := e.Calls[name]
		one.Timed, one.TimedCPU, one.Off, one.Blocked = from.Timed, from.TimedCPU, from.Off, from.Blocked
		c.Calls[name] = one
	}
	t := &c.TCP
	t.Sends, t.SentBytes, t.Receives, t.ReceivedBytes = e.TCP.Sends, e.TCP.SentBytes, e.TCP.Receives, e.TCP.ReceivedBytes
	t.WindowClosed, t.Unread = e.TCP.WindowClosed, e.TCP.Unread
	for i := range c.Peers {
		p, from := &c.Peers[i], Peer{}
		if at, known := findPeer(e.Peers, p); known {
			from = e.Peers[at]
		}
		p.Sends, p.SentBytes, p.Receives, p.ReceivedBytes, p.Wait = from.Sends, from.SentBytes, from.Receives, from.ReceivedBytes, from.Wait
	}
}

// findPeer returns the place of a peer in a list.
func findPeer(list []Peer, p *Peer) (at int, known bool) {
	return slices.BinarySearchFunc(list, p, func(a Peer, b *Peer) int { return order(&a, b) })
}
