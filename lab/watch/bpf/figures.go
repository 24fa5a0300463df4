package bpf

import (
	"maps"
	"slices"

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

// count passes a counter of a member on. One that is new was 0 at the last sample.
func (s *Sampler) count(r *watch.Reading, family, member string, value float64) {
	name := watch.Member(family, member)
	if !s.last.IsZero() {
		r.Zero(name, s.last)
	}
	r.Count(name, 0, value)
}

// set sets all figures.
func (s *Sampler) set(r *watch.Reading, now, window *Counts) {
	s.setCalls(r, now, window)
	setThreads(r, now, window)
	setPolls(r, now, window)
	setSockets(r, now, window)
	s.setPeers(r, now, window)
	if now.KernelCPU != nil {
		for _, part := range Parts() {
			r.Count(watch.Member("kernel_cpu{part}", part), 0, now.KernelCPU[part])
		}
	}
	r.Count("bpf_lost", 0, float64(now.Lost.Total()))
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
		// The estimate of a total would change when the number of calls does that are timed; the
		// sum of the windows does not.
		s.spent[name] += max(w.Seconds(), 0)
		if !s.admit("calls", name, mostCalls) {
			continue
		}
		s.count(r, "blocked{call}", name, c.Blocked)
		if name == Outside {
			continue
		}
		s.count(r, "syscalls{call}", name, float64(c.Calls))
		s.count(r, "syscall_time{call}", name, s.spent[name])
		if moved := w.moved(); moved > 0 {
			r.Set(watch.Member("syscall_bytes{call}", name), float64(w.Bytes)/float64(moved))
		}
	}
	r.Count("syscalls_all", 0, float64(all))
	r.Count("syscall_errors", 0, float64(failed))
	r.Count("syscall_again", 0, float64(again))
}

// moved returns the number of calls that moved bytes.
func (c Call) moved() (n uint64) {
	for _, size := range c.Sizes[1:] {
		n += size
	}
	return n
}

// quantiles sets the figures of a distribution, if there is one.
func quantiles(r *watch.Reading, h *Hist, median, high string) {
	if h.Count() == 0 {
		return
	}
	r.Set(median, h.Quantile(0.5))
	r.Set(high, h.Quantile(0.99))
}

func setThreads(r *watch.Reading, now, window *Counts) {
	r.Count("sched_wait", 0, now.Waited.Seconds)
	quantiles(r, &window.Waited, "sched_wait_p50", "sched_wait_p99")
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

func setSockets(r *watch.Reading, now, window *Counts) {
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
	r.Count("tcp_resends", 0, float64(t.Retransmits))
	r.Count("tcp_resets_sent", 0, float64(t.ResetsSent))
	r.Count("tcp_resets_received", 0, float64(t.ResetsReceived))
	r.Count("tcp_windows_closed", 0, float64(t.WindowClosed))
	r.Count("accepts", 0, float64(now.Accepts))
	r.Count("dns_queries", 0, float64(now.Lookups))
}

func (s *Sampler) setPeers(r *watch.Reading, now, window *Counts) {
	var connects, failed uint64
	times := Hist{}
	for i := range now.Peers {
		p := &now.Peers[i]
		connects, failed = connects+p.Connects, failed+p.Failed
		name := p.Name()
		if s.admit("peers", name, mostPeers) {
			s.count(r, "peer_connects{peer}", name, float64(p.Connects))
			s.count(r, "peer_requests{peer}", name, float64(p.Wait.Count()))
		}
	}
	for i := range window.Peers {
		p := &window.Peers[i]
		times = times.add(&p.Connect)
		name := p.Name()
		if p.Wait.Count() > 0 && s.admit("peers", name, mostPeers) {
			r.Set(watch.Member("peer_wait{peer}", name), p.Wait.Mean())
			r.Set(watch.Member("peer_wait_p99{peer}", name), p.Wait.Quantile(0.99))
		}
	}
	r.Count("connects", 0, float64(connects))
	r.Count("connects_failed", 0, float64(failed))
	quantiles(r, &times, "connect_p50", "connect_p99")
}
