package trace_test

import (
	"slices"
	"testing"

	"github.com/redline-go/redline/lab/trace"
	"github.com/redline-go/redline/lab/trace/tracetest"
)

// tasks is a trace of a task with a region, a child task, a wait and a part on another goroutine.
func tasks(w *tracetest.Writer) {
	w.Begin(1 * us)
	m := w.Thread(1)
	m.Create(2*us, 7, "main.serve")
	m.Create(2*us, 8, "main.helper")
	m.Start(3*us, 7)
	m.Task(10*us, 1, 0, "checkout")
	m.Region(12*us, 1, "parse")
	m.RegionEnd(15*us, 1, "parse")
	m.Task(16*us, 2, 1, "pay")
	m.Block(20*us, "sync", "sync.(*Mutex).Lock", "main.pay", "main.serve")
	m.Start(21*us, 8)
	m.Region(22*us, 1, "notify")
	m.RegionEnd(30*us, 1, "notify")
	m.Unblock(50*us, 7, "sync.(*Mutex).Unlock", "main.helper")
	m.Destroy(52 * us)
	m.Start(55*us, 7)
	m.TaskEnd(60*us, 2)
	m.TaskEnd(70*us, 1)
	m.Region(80*us, 0, "idle work")
	m.RegionEnd(82*us, 0, "idle work")
	m.Task(90*us, 3, 0, "checkout")
	m.Syscall(100*us, "syscall.Write", "main.serve")
}

func groupOf(t *testing.T, r *trace.Report, kind, name string) trace.Group {
	t.Helper()
	i := slices.IndexFunc(r.Groups, func(g trace.Group) bool { return g.Kind == kind && g.Name == name })
	if i < 0 {
		t.Fatalf("no %s %s in %+v", kind, name, r.Groups)
	}
	return r.Groups[i]
}

func TestTasks(t *testing.T) {
	r := read(t, written(t, tasks))
	g := groupOf(t, r, "task", "checkout")
	if g.Count != 2 || g.Open != 1 || g.TotalNS != 70*us || g.MaxNS != 60*us {
		t.Errorf("%+v", g)
	}
	if pay := groupOf(t, r, "task", "pay"); pay.Count != 1 || pay.TotalNS != 44*us {
		t.Errorf("%+v", pay)
	}
	if g := groupOf(t, r, "region", "idle work"); g.Count != 1 || g.TotalNS != 2*us {
		t.Errorf("%+v", g)
	}
	first := r.Slowest[0]
	want := []trace.Part{
		{State: "blocked", Reason: "sync", Call: "sync.(*Mutex).Lock in main.pay", TotalNS: 30 * us, Count: 1},
		{State: "running", TotalNS: 25 * us, Count: 2},
		{State: "runnable", Reason: "another goroutine", TotalNS: 5 * us, Count: 1},
	}
	if first.Name != "checkout" || first.NS != 60*us || first.Goroutine != 7 || first.Open || !slices.Equal(first.Spent, want) {
		t.Errorf("%+v", first)
	}
	if want := []trace.Child{
		{Kind: "task", Name: "pay", Count: 1, TotalNS: 44 * us, MaxNS: 44 * us},
		{Kind: "region", Name: "notify", Count: 1, TotalNS: 8 * us, MaxNS: 8 * us},
		{Kind: "region", Name: "parse", Count: 1, TotalNS: 3 * us, MaxNS: 3 * us},
	}; !slices.Equal(first.Children, want) {
		t.Errorf("%+v, want %+v", first.Children, want)
	}
	if want := []trace.Segment{
		{AtNS: 0, NS: 10 * us, State: "running"},
		{AtNS: 10 * us, NS: 30 * us, State: "blocked", Reason: "sync", Call: "sync.(*Mutex).Lock in main.pay", By: "sync.(*Mutex).Unlock in main.helper"},
		{AtNS: 40 * us, NS: 5 * us, State: "runnable", Reason: "another goroutine", By: "sync.(*Mutex).Unlock in main.helper"},
		{AtNS: 45 * us, NS: 15 * us, State: "running"},
	}; !slices.Equal(first.Segments, want) {
		t.Errorf("%+v", first.Segments)
	}
}

const (
	serve   = "net/http.(*conn).serve"
	handler = "net/http.HandlerFunc.ServeHTTP"
	server  = "net/http.serverHandler.ServeHTTP"
)

var (
	reading = []string{"internal/poll.(*FD).Read", "net.(*conn).Read", "bufio.(*Reader).Peek", serve}
	slow    = []string{"time.Sleep", "main.slow", handler, "main.log.func1", handler, server, serve}
	writing = []string{"syscall.write", "net.(*conn).Write", "net/http.(*response).finishRequest", serve}
)

// connection is a trace of a connection of net/http: a request that the window began in, a slow
// one, a quick one that shows no handler, and one that has not ended.
func connection(w *tracetest.Writer) {
	w.Waiting(7)
	w.Begin(1 * us)
	m := w.Thread(1)
	m.Unblock(10*us, 7)
	m.Start(11*us, 7)
	m.Syscall(20*us, "syscall.write", "main.early", handler, server, serve)
	m.SyscallEnd(21 * us)
	next := func(at uint64) {
		m.Syscall(at*us, reading...)
		m.SyscallEnd((at + 1) * us)
		m.Block((at+2)*us, "network", reading...)
		m.Unblock((at+50)*us, 7)
		m.Start((at+53)*us, 7)
		m.Syscall((at+54)*us, reading...)
		m.SyscallEnd((at + 55) * us)
	}
	next(30) // the request begins at 80
	m.Block(90*us, "sleep", slow...)
	m.Unblock(190*us, 7)
	m.Start(191*us, 7)
	m.Syscall(195*us, writing...)
	m.SyscallEnd(199 * us)
	next(200) // at 250
	m.Syscall(260*us, writing...)
	m.SyscallEnd(261 * us)
	next(300) // at 350
	m.Block(360*us, "select", "main.hang", handler, server, serve)
	m.Create(400*us, 9, "main.other")
}

func TestHTTP(t *testing.T) {
	r := read(t, written(t, connection))
	if g := groupOf(t, r, "http", "main.slow"); g.Count != 1 || g.TotalNS != 120*us || g.Spent[0].Call != "time.Sleep in main.slow" || g.Spent[0].TotalNS != 100*us {
		t.Errorf("%+v", g)
	}
	if g := groupOf(t, r, "http", "main.hang"); g.Count != 1 || g.Open != 1 || g.TotalNS != 50*us {
		t.Errorf("%+v", g)
	}
	if g := groupOf(t, r, "http", "(handler not seen)"); g.Count != 1 || g.TotalNS != 50*us {
		t.Errorf("%+v", g)
	}
	if i := slices.IndexFunc(r.Slowest, func(q trace.Request) bool { return q.Early }); i < 0 || r.Slowest[i].NS != 29*us || r.Slowest[i].BeginNS != 0 || r.Slowest[i].Name != "main.early" {
		t.Errorf("%+v", r.Slowest)
	}
	for _, b := range r.Blocks {
		if b.Reason == "network" && !b.Idle {
			t.Errorf("a connection without a request is not idle: %+v", b)
		}
	}
}

// Requests for profiles and for the trace itself are not in the report.
func TestHTTPProfiles(t *testing.T) {
	own := []string{"net/http/pprof.sleep", "net/http/pprof.Trace", handler, server, serve}
	r := read(t, written(t, func(w *tracetest.Writer) {
		w.Waiting(7)
		w.Begin(1 * us)
		m := w.Thread(1)
		m.Unblock(10*us, 7)
		m.Start(11*us, 7)
		m.Block(20*us, "network", reading...)
		m.Unblock(30*us, 7)
		m.Start(31*us, 7)
		m.Block(40*us, "select", own...)
		m.Unblock(90*us, 7)
		m.Start(91*us, 7)
		m.Syscall(92*us, writing...)
		m.SyscallEnd(93 * us)
		m.Block(95*us, "network", reading...)
	}))
	if len(r.Groups) != 0 || len(r.Slowest) != 0 {
		t.Errorf("%+v", r.Groups)
	}
	for _, b := range r.Blocks {
		if !b.Idle {
			t.Errorf("%+v", b)
		}
	}
}

func TestHTTP2(t *testing.T) {
	r := read(t, written(t, func(w *tracetest.Writer) {
		w.Begin(1 * us)
		m := w.Thread(1)
		m.Create(10*us, 7, "net/http.(*http2serverConn).runHandler")
		m.Start(15*us, 7)
		m.Block(20*us, "sync", "sync.(*Mutex).Lock", "main.slow", handler, "net/http.(*http2serverConn).runHandler")
		m.Unblock(60*us, 7)
		m.Start(62*us, 7)
		m.Destroy(70 * us)
	}))
	if g := groupOf(t, r, "http", "main.slow"); g.Count != 1 || g.TotalNS != 60*us || g.Spent[0].TotalNS != 40*us {
		t.Errorf("%+v", g)
	}
}
