package trace_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	rtrace "runtime/trace"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/trace"
)

// traced returns the report of a trace of this process while work runs.
func traced(t *testing.T, work func()) *trace.Report {
	t.Helper()
	var b bytes.Buffer
	if err := rtrace.Start(&b); err != nil {
		t.Fatal(err)
	}
	work()
	rtrace.Stop()
	return read(t, b.Bytes())
}

// blocked sums up the rows of a reason and a call.
func blocked(r *trace.Report, reason, call string) (count int64) {
	for _, b := range r.Blocks {
		if b.Reason == reason && b.Call == call {
			count += b.Count
		}
	}
	return count
}

const waiters = 20

//go:noinline
func waitForMutex(mu *sync.Mutex) {
	mu.Lock()
	defer mu.Unlock()
}

func TestProgramMutex(t *testing.T) {
	r := traced(t, func() {
		var mu sync.Mutex
		var all sync.WaitGroup
		mu.Lock()
		for range waiters {
			all.Go(func() { waitForMutex(&mu) })
		}
		for locking("waitForMutex") < waiters {
			time.Sleep(time.Millisecond)
		}
		mu.Unlock()
		all.Wait()
	})
	// A woken goroutine may find the mutex locked again.
	if n := blocked(r, "sync", "sync.(*Mutex).Lock in "+pkg+".waitForMutex"); n < waiters {
		t.Errorf("%d blocked, want at least %d", n, waiters)
	}
	i := slices.IndexFunc(r.Lives, func(l trace.Life) bool { return strings.HasPrefix(l.Func, "sync.(*WaitGroup).Go") })
	if i < 0 || r.Lives[i].Created != waiters || r.Lives[i].Ended != waiters {
		t.Errorf("%+v", r.Lives)
	}
}

// pkg is how the runtime names this package.
const pkg = "github.com/redline-go/redline/lab/trace_test"

func TestProgramGC(t *testing.T) {
	const cycles = 4
	runtime.GC() // ends one that is going on
	r := traced(t, func() {
		for range cycles {
			runtime.GC()
		}
	})
	pauses := map[string]int64{}
	for _, p := range r.GC.Pauses {
		pauses[p.Kind] = p.Count
	}
	if r.GC.Cycles < cycles || pauses["GC mark termination"] < cycles || r.GC.WorkerNS <= 0 {
		t.Errorf("%d cycles, pauses %v, workers %d ns", r.GC.Cycles, pauses, r.GC.WorkerNS)
	}
}

//go:noinline
func callKernel(fd int, p []byte) {
	_, _ = syscall.Read(fd, p) // it fails: the descriptor is closed
}

func TestProgramSyscalls(t *testing.T) {
	const calls = 50
	r := traced(t, func() {
		for range calls {
			callKernel(-1, make([]byte, 1))
		}
	})
	for _, c := range r.Syscalls {
		if strings.HasSuffix(c.Call, " in "+pkg+".callKernel") {
			if c.Count != calls {
				t.Errorf("%+v, want %d calls", c, calls)
			}
			return
		}
	}
	t.Errorf("%+v", r.Syscalls)
}

func TestProgramTasks(t *testing.T) {
	const orders = 5
	r := traced(t, func() {
		for range orders {
			ctx, task := rtrace.NewTask(context.Background(), "order")
			for range 3 {
				rtrace.WithRegion(ctx, "query", func() { time.Sleep(time.Millisecond) })
			}
			_, child := rtrace.NewTask(ctx, "mail")
			child.End()
			task.End()
		}
	})
	g := groupOf(t, r, "task", "order")
	if g.Count != orders || g.Open != 0 {
		t.Errorf("%+v", g)
	}
	// On a busy machine, they may wait longer for a CPU than they sleep.
	if !slices.ContainsFunc(g.Spent, func(p trace.Part) bool {
		return p.State == "blocked" && p.Reason == "sleep" && p.Count == 3*orders
	}) {
		t.Errorf("spent %+v", g.Spent)
	}
	if g := groupOf(t, r, "task", "mail"); g.Count != orders {
		t.Errorf("%+v", g)
	}
	got := map[string]int64{}
	for _, c := range r.Slowest[0].Children {
		got[c.Kind+" "+c.Name] = c.Count
	}
	if got["region query"] != 3 || got["task mail"] != 1 {
		t.Errorf("%v", got)
	}
}

var (
	shared sync.Mutex
	burned int
)

//go:noinline
func sleeps(w http.ResponseWriter, _ *http.Request) {
	time.Sleep(40 * time.Millisecond)
	w.WriteHeader(http.StatusNoContent)
}

//go:noinline
func locks(w http.ResponseWriter, _ *http.Request) {
	shared.Lock()
	defer shared.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

//go:noinline
func computes(w http.ResponseWriter, _ *http.Request) {
	for i := range 3_000_000 {
		burned += i * i
	}
	runtime.Gosched() // an event with the handler on the stack
	w.WriteHeader(http.StatusNoContent)
}

// TestProgramHTTP names the handlers of a server, with what each spends its time on.
func TestProgramHTTP(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/sleeps", sleeps)
	mux.HandleFunc("/locks", locks)
	mux.HandleFunc("/computes", computes)
	s := httptest.NewServer(mux)
	defer s.Close()
	const requests = 5
	get := func(path string) {
		answer, err := s.Client().Get(s.URL + path)
		if err != nil {
			t.Error(err)
			return
		}
		answer.Body.Close()
	}
	r := traced(t, func() {
		for range requests {
			get("/sleeps")
			get("/computes")
			shared.Lock()
			var all sync.WaitGroup
			all.Go(func() { get("/locks") })
			for locking("locks") == 0 {
				time.Sleep(time.Millisecond)
			}
			shared.Unlock()
			all.Wait()
		}
		s.Client().CloseIdleConnections()
	})
	for _, c := range []struct{ name, state, reason, call string }{
		{"sleeps", "blocked", "sleep", "time.Sleep in " + pkg + ".sleeps"},
		{"locks", "blocked", "sync", "sync.(*Mutex).Lock in " + pkg + ".locks"},
		{"computes", "running", "", ""},
	} {
		g := groupOf(t, r, trace.KindHTTP, pkg+"."+c.name)
		if g.Count != requests {
			t.Errorf("%s: %d requests", c.name, g.Count)
		}
		if !slices.ContainsFunc(g.Spent, func(p trace.Part) bool { return p.State == c.state && p.Reason == c.reason && p.Call == c.call }) {
			t.Errorf("%s: spent %+v", c.name, g.Spent)
		}
	}
}

// TestProgramHTTP2 finds the requests of net/http's HTTP/2 server.
func TestProgramHTTP2(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(sleeps))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	const requests = 5
	r := traced(t, func() {
		for range requests {
			answer, err := s.Client().Get(s.URL)
			if err != nil {
				t.Error(err)
				continue
			}
			answer.Body.Close()
			if answer.ProtoMajor != 2 {
				t.Errorf("protocol %s", answer.Proto)
			}
		}
		s.Client().CloseIdleConnections()
	})
	g := groupOf(t, r, trace.KindHTTP, pkg+".sleeps")
	if g.Count != requests || !slices.ContainsFunc(g.Spent, func(p trace.Part) bool { return p.Call == "time.Sleep in "+pkg+".sleeps" }) {
		t.Errorf("%+v", g)
	}
}

// locking counts the goroutines that wait for a mutex in a function of this package.
func locking(name string) (n int) {
	buf := make([]byte, 1<<20)
	for one := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(one, "[sync.Mutex.Lock") && strings.Contains(one, pkg+"."+name+"(") {
			n++
		}
	}
	return n
}

// Handlers in which nothing happens are named by the routes that their program logs.
func TestProgramRoutes(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /quick/{id}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r)
		rtrace.Log(r.Context(), "http.route", r.Pattern)
	}))
	defer s.Close()
	const n = 20
	ask := func() {
		answer, err := http.Get(s.URL + "/quick/7")
		if err != nil {
			t.Error(err)
			return
		}
		if err := answer.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	ask() // the connection, and the goroutine that serves it, exist when the trace begins
	r := traced(t, func() {
		for range n {
			ask()
		}
	})
	if g := groupOf(t, r, "http", "GET /quick/{id}"); g.Count < n-1 { // the last one may not have ended
		t.Errorf("%+v of %d requests", g, n)
	}
	for _, g := range r.Groups {
		if g.Name == trace.NotSeen {
			t.Errorf("%d requests have no name", g.Count)
		}
	}
}
