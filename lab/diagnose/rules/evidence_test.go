package rules

import (
	"strings"
	"time"

	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/watch"
)

// frames makes a stack of function names, innermost first.
func frames(names ...string) []diagnose.Frame {
	var list []diagnose.Frame
	for _, n := range names {
		list = append(list, diagnose.Frame{Func: n, Line: 1, Kind: kindOf(n)})
	}
	return list
}

func kindOf(name string) diagnose.Kind {
	first, _, _ := strings.Cut(name, "/")
	switch {
	case strings.HasPrefix(name, "main."):
		return diagnose.User
	case strings.HasPrefix(name, "runtime."):
		return diagnose.Runtime
	case strings.Contains(first, ".") && strings.Contains(name, "/"):
		return diagnose.Library
	case !strings.Contains(name, "."):
		return diagnose.System
	}
	return diagnose.Standard
}

// below is the end of the stack of a request's goroutine.
var below = []string{"net/http.HandlerFunc.ServeHTTP", "net/http.serverHandler.ServeHTTP", "net/http.(*conn).serve", "runtime.goexit"}

// under returns the frames of a request's goroutine.
func under(names ...string) []diagnose.Frame { return frames(append(names, below...)...) }

// A sick server is made from a healthy one.
type patient struct{ *diagnose.Evidence }

func (p patient) knee() *diagnose.Load { return p.Knee() }

// healthy is a service that answers with a little JSON from memory: 10,000 answers a second, at
// 60 % of two CPUs.
func healthy() patient {
	l := diagnose.Load{
		Name: diagnose.Knee, Connections: 16, Seconds: 10, Rate: 10_000, InFlight: 14, CPU: 120e-6, Cores: 1.2, System: 0.4,
		Latency: diagnose.Latency{Count: 100_000, Mean: 0.0014, P50: 0.0012, P99: 0.004, Max: 0.02}, Answer: 900, Request: 200,
		Generator: diagnose.Generator{CPU: 0.6, Valid: true},
		OnCPU:     &stacks{}, OffCPU: &stacks{}, Wall: &stacks{}, Allocs: &stacks{},
		Watch: watch.Summary{Seconds: 10, Samples: 50, Figures: map[string]watch.Range{}, Totals: map[string]float64{}},
		Kernel: &diagnose.Kernel{Seconds: 10, Calls: map[string]diagnose.Syscall{
			"write": {Rate: 10_000, Bytes: 900, Seconds: 0.1}, "read": {Rate: 20_000, Again: 10_000, Bytes: 200}, "epoll_pwait": {Rate: 8_000}, "futex": {Rate: 3_000},
		}},
	}
	e := &diagnose.Evidence{
		Server: diagnose.Server{PIDs: []int{1}, Language: "go", CPUs: 2, Procs: 2, FileLimit: 20_000, GOGC: 100},
		Rest: &diagnose.Rest{
			After: 3 * time.Second, Answers: 300_000,
			Before: map[string]float64{"goroutines": 5, "descriptors": 8, "heap_live_bytes": 4 << 20, "rss_bytes": 20 << 20, "tcp_close_wait": 0, "cpu_total": 0.001},
			Later:  map[string]float64{"goroutines": 9, "descriptors": 10, "heap_live_bytes": 5 << 20, "rss_bytes": 40 << 20, "tcp_close_wait": 0, "cpu_total": 0.001},
		},
	}
	e.Loads = []diagnose.Load{l}
	p := patient{e}
	p.gauge("descriptors", 30).gauge("goroutines", 40).gauge("heap_live_bytes", 5<<20).gauge("accept_queue", 1).gauge("accept_queue_limit", 4096)
	p.count("allocated", 30e6).count("gc_cycles", 6).count("accept_drops", 0).count("tcp_retransmits", 0).count("tcp_segments_sent", 10_000).count("faults_major", 0)
	on := p.knee().OnCPU
	for _, s := range []struct {
		share float64
		names []string
	}{
		{0.06, frameNames("runtime.scanobject", "runtime.gcDrain", "runtime.gcBgMarkWorker")},
		{0.05, append([]string{"runtime.mallocgc", "encoding/json.Marshal", "main.(*shop).show"}, below...)},
		{0.03, append([]string{"runtime.mallocgc", "net/http.readRequest"}, below[2:]...)},
		{0.05, append([]string{"encoding/json.structEncoder.encode", "encoding/json.Marshal", "main.(*shop).show"}, below...)},
		{0.06, append([]string{"main.(*shop).find", "main.(*shop).show"}, below...)},
		{0.06, append([]string{"net/textproto.(*Reader).ReadMIMEHeader", "net/http.readRequest"}, below[2:]...)},
		{0.30, append([]string{"tcp_sendmsg", "__sys_sendto", "syscall.write", "internal/poll.(*FD).Write", "net.(*conn).Write"}, below[2:]...)},
		{0.20, append([]string{"tcp_recvmsg", "syscall.read", "internal/poll.(*FD).Read", "net.(*conn).Read"}, below[2:]...)},
		{0.15, frameNames("runtime.findRunnable", "runtime.schedule", "runtime.park_m", "runtime.mcall")},
		{0.02, append([]string{"runtime.newproc", "net/http.(*connReader).startBackgroundRead"}, below[2:]...)},
		{0.02, append([]string{"runtime.(*timers).run", "runtime.findRunnable"}, "runtime.schedule")},
	} {
		on.List = append(on.List, stack{Weight: 12 * s.share, Frames: frames(s.names...)})
		on.Total += 12 * s.share
	}
	p.wall(1.2, "runnable", "", under("main.(*shop).show")...)
	p.wall(6, "runnable", "", frames("internal/poll.(*FD).Read", "net.(*conn).Read", "net/http.(*connReader).Read", "net/http.(*conn).serve")...)
	p.wall(6, "waiting", "IO wait", frames("internal/poll.(*FD).Read", "net.(*conn).Read", "net/http.(*connReader).Read", "net/http.(*conn).serve")...)
	p.wall(1, "waiting", "IO wait", frames("internal/poll.(*FD).Accept", "net.(*TCPListener).Accept", "net/http.(*Server).Serve", "main.main", "runtime.main")...)
	p.allocs(0.5, under("encoding/json.Marshal", "main.(*shop).show")...).allocs(0.5, frames("net/http.readRequest", "net/http.(*conn).serve")...)
	return p
}

func frameNames(names ...string) []string { return names }

// gauge sets a figure of the watch.
func (p patient) gauge(name string, x float64) patient {
	p.knee().Watch.Figures[name] = watch.Range{Min: x, Median: x, Max: x, Last: x, Samples: 50}
	return p
}

// count sets the rate of a counter of the watch.
func (p patient) count(name string, rate float64) patient {
	p.gauge(name, rate).knee().Watch.Totals[name] = rate * p.knee().Watch.Seconds
	return p
}

// rest sets a figure at rest.
func (p patient) rest(name string, before, later float64) patient {
	p.Rest.Before[name], p.Rest.Later[name] = before, later
	return p
}

// foreign is a server in another language that mostly waits.
func (p patient) foreign(language string) patient {
	p.waits(0, "", "")
	p.Server = diagnose.Server{PIDs: []int{1}, Language: language, CPUs: 1}
	p.knee().Wall, p.knee().Allocs, p.knee().OnCPU, p.Rest = nil, nil, nil, nil
	return p
}

// flatSweep is a sweep of a server that answers 700 requests a second with any number of connections.
func flatSweep() (list []diagnose.Point) {
	for n := 1; n <= 32; n *= 2 {
		list = append(list, diagnose.Point{Connections: n, Rate: 690 + float64(n)/4, Valid: true})
	}
	return list
}

// again sets what a second load left, when so many collections had ended since the first.
func (p patient) again(collections, answers float64, name string, left float64) patient {
	p.Rest.Collections, p.Rest.Again = collections, &diagnose.Again{Answers: answers, Left: map[string]float64{name: left}}
	return p
}

// below adds the lowest load.
func (p patient) below(l diagnose.Load) patient {
	l.Name = diagnose.Low
	p.Loads = append([]diagnose.Load{l}, p.Loads...)
	return p
}

// cpu adds a stack with a share of the CPU time; the others keep the rest.
func (p patient) cpu(share float64, f ...diagnose.Frame) patient {
	p.knee().OnCPU = mix(p.knee().OnCPU, share, stack{Frames: f})
	return p
}

// allocs adds an allocating stack with a share of the bytes.
func (p patient) allocs(share float64, f ...diagnose.Frame) patient {
	p.knee().Allocs = mix(p.knee().Allocs, share, stack{Frames: f})
	return p
}

func mix(s *stacks, share float64, k stack) *stacks {
	if s.Total == 0 {
		k.Weight = 12
		return &stacks{Total: 12, List: []stack{k}}
	}
	out := &stacks{Total: s.Total}
	for _, old := range s.List {
		old.Weight *= 1 - share
		out.List = append(out.List, old)
	}
	k.Weight = share * s.Total
	out.List = append(out.List, k)
	return out
}

// wall adds goroutines.
func (p patient) wall(n float64, state, wait string, f ...diagnose.Frame) patient {
	w := p.knee().Wall
	w.List = append(w.List, stack{Weight: n, State: state, Wait: wait, Frames: f})
	w.Total += n
	return p
}

// waits is a server that mostly waits: its requests take 20 ms, at a tenth of the CPUs.
func (p patient) waits(n float64, state, wait string, f ...diagnose.Frame) patient {
	l := p.knee()
	l.Rate, l.Latency.Mean, l.Cores, l.InFlight, l.CPU = 700, 0.020, 0.2, 16, 0.2/700
	for k, c := range l.Kernel.Calls {
		c.Rate *= 0.07
		l.Kernel.Calls[k] = c
	}
	for _, name := range []string{"allocated", "tcp_segments_sent", "gc_cycles"} {
		l.Watch.Totals[name] *= 0.07
	}
	return p.wall(n, state, wait, f...)
}

// busy saturates the CPUs.
func (p patient) busy() patient {
	p.knee().Cores, p.knee().CPU = 1.96, 1.96/p.knee().Rate
	return p
}

// peer adds a server to which this one connects.
func (p patient) peer(q diagnose.Peer) patient {
	p.knee().Kernel.Peers = append(p.knee().Kernel.Peers, q)
	return p
}

// call sets a system call.
func (p patient) call(name string, c diagnose.Syscall) patient {
	p.knee().Kernel.Calls[name] = c
	return p
}
