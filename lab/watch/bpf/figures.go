package bpf

import (
	"maps"
	"slices"
	"time"

	"github.com/redline-go/redline/lab/watch"
)

// figureNames are the figures of the watch that this package sets.
var figureNames = func() (list []string) {
	for _, f := range watch.KernelEventFigures() {
		list = append(list, f.Name)
	}
	return list
}()

// The most members of a family in the samples: those that came first. Counts have all.
const (
	mostCalls = 40
	mostPeers = 16
)

// members are those of a family that are in the samples. One that is in them stays, because a
// counter cannot pause.
type members struct{ known map[string]bool }

// admit reports whether a member is in the samples.
func (s *Sampler) admit(family, member string, most int) bool {
	m := s.members[family]
	if m == nil {
		m = &members{known: map[string]bool{}}
		s.members[family] = m
	}
	if !m.known[member] && len(m.known) < most {
		m.known[member] = true
	}
	return m.known[member]
}

// passOn passes a counter of a member on. One that is new was 0 at the given time.
func passOn(r *watch.Reading, since time.Time, family, member string, value float64) {
	name := watch.Member(family, member)
	if !since.IsZero() {
		r.Zero(name, since)
	}
	r.Count(name, 0, value)
}

// set sets the figures that are exact, and those that are sampled if there is something new of
// them.
func (s *Sampler) set(r *watch.Reading, now *Counts) {
	window := now.Sub(s.before)
	s.setCalls(r, now, &window)
	setPolls(r, now, &window)
	setSockets(r, now)
	s.setConnects(r, now, &window)
	if now.KernelCPU != nil {
		for _, part := range Parts() {
			r.Count(watch.Member("kernel_cpu{part}", part), 0, now.KernelCPU[part])
		}
	}
	r.Count("bpf_lost", 0, float64(now.Lost.Total()))
	if now.Scaled.Readings == s.folded.Scaled.Readings {
		return
	}
	window = now.Sub(s.folded)
	s.setTimes(r, now, &window)
	setTransfers(r, now, &window)
	s.setPeers(r, now, &window)
	r.Set("bpf_observed", window.Scaled.Share())
}

// byCalls returns the names of calls, those that were called most first.
func byCalls(calls map[string]Call) []string {
	names := slices.Sorted(maps.Keys(calls))
	slices.SortStableFunc(names, func(a, b string) int {
		switch x, y := calls[a].Calls, calls[b].Calls; {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return names
}

func (s *Sampler) setCalls(r *watch.Reading, now, window *Counts) {
	var all, failed, again uint64
	for _, name := range byCalls(now.Calls) {
		c, w := now.Calls[name], window.Calls[name]
		all, failed, again = all+c.Calls, failed+c.Errors, again+c.Again
		if name == Outside || !s.admit("calls", name, mostCalls) {
			continue
		}
		passOn(r, s.last, "syscalls{call}", name, float64(c.Calls))
		if w.Moved > 0 {
			r.Set(watch.Member("syscall_bytes{call}", name), float64(w.Bytes)/float64(w.Moved))
		}
	}
	r.Count("syscalls_all", 0, float64(all))
	r.Count("syscall_errors", 0, float64(failed))
	r.Count("syscall_again", 0, float64(again))
}

// setTimes sets what threads wait for.
func (s *Sampler) setTimes(r *watch.Reading, now, window *Counts) {
	for _, name := range byCalls(now.Calls) {
		// The estimate of a total would change when the number of calls does that are timed; the
		// sum of the windows does not.
		w := window.Calls[name]
		s.spent[name] += max(w.Seconds(), 0)
		if !s.admit("calls", name, mostCalls) {
			continue
		}
		passOn(r, s.renewed, "blocked{call}", name, now.Calls[name].Blocked)
		if name != Outside {
			passOn(r, s.renewed, "syscall_time{call}", name, s.spent[name])
		}
	}
	r.Count("sched_wait", 0, now.Waited.Seconds)
	quantiles(r, &window.Waited, "sched_wait_p50", "sched_wait_p99")
}

// quantiles sets the figures of a distribution, if there is one.
func quantiles(r *watch.Reading, h *Hist, median, high string) {
	if h.Count() == 0 {
		return
	}
	r.Set(median, h.Quantile(0.5))
	r.Set(high, h.Quantile(0.99))
}

func setPolls(r *watch.Reading, now, window *Counts) {
	waits := func(c *Counts) (n float64) {
		for name, kind := range kindOf {
			if kind == wait {
				n += float64(c.Calls[name].Calls)
			}
		}
		return n
	}
	r.Count("epoll_waits", 0, waits(now))
	if n := waits(window); n > 0 {
		r.Set("epoll_events", float64(window.Epoll.Events)/n)
		r.Set("epoll_empty", float64(window.Epoll.Empty)/n)
	}
	r.Count("epoll_adds", 0, float64(now.Epoll.Adds))
	r.Count("epoll_mods", 0, float64(now.Epoll.Mods))
	r.Count("epoll_dels", 0, float64(now.Epoll.Dels))
	r.Set("epoll_balance", float64(now.Epoll.Adds)-float64(now.Epoll.Dels))
	r.Count("uring_enters", 0, float64(now.Calls["io_uring_enter"].Calls))
	r.Count("uring_submissions", 0, float64(now.Uring.Submitted))
	r.Count("uring_completions", 0, float64(now.Uring.Completed))
}

// setSockets sets what is exact of the sockets.
func setSockets(r *watch.Reading, now *Counts) {
	t := &now.TCP
	r.Count("tcp_resends", 0, float64(t.Retransmits))
	r.Count("tcp_resets_sent", 0, float64(t.ResetsSent))
	r.Count("tcp_resets_received", 0, float64(t.ResetsReceived))
	r.Count("accepts", 0, float64(now.Accepts))
}

// setTransfers sets what sockets sent and received.
func setTransfers(r *watch.Reading, now, window *Counts) {
	t, w := &now.TCP, &window.TCP
	r.Count("tcp_sends", 0, float64(t.Sends))
	r.Count("tcp_receives", 0, float64(t.Receives))
	if w.Sends > 0 {
		r.Set("tcp_send_bytes", float64(w.SentBytes)/float64(w.Sends))
	}
	if w.Receives > 0 {
		r.Set("tcp_receive_bytes", float64(w.ReceivedBytes)/float64(w.Receives))
	}
	quantiles(r, &w.Unread, "tcp_unread_p50", "tcp_unread_p99")
	r.Count("tcp_windows_closed", 0, float64(t.WindowClosed))
	r.Count("dns_queries", 0, float64(now.Lookups+now.Queries))
	r.Count("requests", 0, float64(now.Answers))
}

// setConnects sets the figures of connections that the process opened.
func (s *Sampler) setConnects(r *watch.Reading, now, window *Counts) {
	var connects, failed uint64
	times := Hist{}
	for i := range now.Peers {
		p := &now.Peers[i]
		connects, failed = connects+p.Connects, failed+p.Failed
		if name := p.Name(); s.admit("peers", name, mostPeers) {
			passOn(r, s.last, "peer_connects{peer}", name, float64(p.Connects))
		}
	}
	for i := range window.Peers {
		times = times.add(&window.Peers[i].Connect)
	}
	r.Count("connects", 0, float64(connects))
	r.Count("connects_failed", 0, float64(failed))
	quantiles(r, &times, "connect_p50", "connect_p99")
}

// setPeers sets how long peers take to answer.
func (s *Sampler) setPeers(r *watch.Reading, now, window *Counts) {
	for i := range now.Peers {
		p := &now.Peers[i]
		if name := p.Name(); s.admit("peers", name, mostPeers) {
			passOn(r, s.renewed, "peer_requests{peer}", name, float64(p.Wait.Count()))
		}
	}
	for i := range window.Peers {
		p := &window.Peers[i]
		name := p.Name()
		if p.Wait.Count() > 0 && s.admit("peers", name, mostPeers) {
			r.Set(watch.Member("peer_wait{peer}", name), p.Wait.Mean())
			r.Set(watch.Member("peer_wait_p99{peer}", name), p.Wait.Quantile(0.99))
		}
	}
}
