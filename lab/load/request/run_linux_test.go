package request

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/run"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/results"
)

// collect runs spec and returns all events.
func collect(ctx context.Context, order *spec.Spec) (events []spec.Event, err error) {
	err = Run(ctx, order, func(e spec.Event) { events = append(events, e) })
	return events, err
}

// collectSome runs spec until its window has a request. On a loaded machine the server may
// not be scheduled in a short window: the next is four times as long.
func collectSome(t *testing.T, order *spec.Spec) []spec.Event {
	t.Helper()
	for range 4 {
		events, err := collect(context.Background(), order)
		if err != nil {
			t.Fatal(err)
		}
		if res := events[len(events)-1].Result; res == nil || res.Requests > 0 {
			return events
		}
		order.Window *= 4
	}
	t.Fatalf("no request in a window of %v", order.Window/4)
	return nil
}

func TestRun(t *testing.T) {
	s := serveScript(t, func(c *net.TCPConn, _ int) bool { return say(c, goodAnswer) })
	order := testSpec(s.addr)
	order.Connections, order.Warmup, order.Window, order.Tick = 8, 100*time.Millisecond, 300*time.Millisecond, 50*time.Millisecond
	order.ServerPIDs = []int{os.Getpid()}
	events := collectSome(t, order)
	if !events[0].Connected {
		t.Errorf("the first event is %+v", events[0])
	}
	res := events[len(events)-1].Result
	if res == nil {
		t.Fatalf("the last event is %+v", events[len(events)-1])
	}
	checkSums(t, order, events[1:len(events)-1], res)
	h, err := hdrhistogram.Decode([]byte(res.Histogram))
	if err != nil {
		t.Fatal(err)
	}
	if want := res.Requests + res.Late + res.Unanswered; uint64(h.TotalCount()) != want {
		t.Errorf("%d latencies, want %d: %d requests, %d late, %d unanswered", h.TotalCount(), want, res.Requests, res.Late, res.Unanswered)
	}
	if want := res.Requests * uint64(len(goodAnswer)); res.BytesIn < want/2 || res.BytesOut == 0 {
		t.Errorf("%d bytes in, %d out", res.BytesIn, res.BytesOut)
	}
}

// checkSums compares ticks and result.
func checkSums(t *testing.T, order *spec.Spec, events []spec.Event, res *spec.Result) {
	t.Helper()
	var (
		open              bool
		requests, heat    uint64
		warm, seconds     float64
		cpu, last, before float64
	)
	for _, e := range events {
		switch {
		case e.Window:
			open = true
		case e.Tick == nil:
			t.Errorf("unexpected event %+v", e)
		case !open:
			before++
			warm += e.Tick.Seconds
			if e.Tick.T > 0 {
				t.Errorf("tick of the warm-up at %v", e.Tick.T)
			}
		default:
			if e.Tick.T <= last {
				t.Errorf("tick at %v after %v", e.Tick.T, last)
			}
			last = e.Tick.T
			requests += e.Tick.Requests
			seconds += e.Tick.Seconds
			cpu += e.Tick.ServerCPU * e.Tick.Seconds
			for _, h := range e.Tick.Heat {
				heat += h[1]
			}
			if e.Tick.Requests > 0 && (e.Tick.P50 <= 0 || e.Tick.P99 < e.Tick.P50) {
				t.Errorf("quantiles %v and %v", e.Tick.P50, e.Tick.P99)
			}
		}
	}
	differ := func(a, b float64) bool { return a-b > 1e-6 || b-a > 1e-6 }
	if !open || before == 0 || warm < order.Warmup.Seconds() || differ(warm, res.WarmupSeconds) && warm > res.WarmupSeconds {
		t.Errorf("window %v, %v ticks of %v s in a warm-up of %v s", open, before, warm, res.WarmupSeconds)
	}
	if requests != res.Requests || heat != res.Requests || requests == 0 {
		t.Errorf("%d requests in the ticks, %d in their heat, %d in the result", requests, heat, res.Requests)
	}
	if differ(seconds, res.Seconds) || res.Seconds < order.Window.Seconds() {
		t.Errorf("%v s in the ticks, %v s in the result", seconds, res.Seconds)
	}
	if differ(cpu, res.ServerCPU) || cpu <= 0 || differ(res.ServerUser+res.ServerSys, res.ServerCPU) {
		t.Errorf("%v CPU seconds in the ticks, %v + %v = %v in the result", cpu, res.ServerUser, res.ServerSys, res.ServerCPU)
	}
	if len(res.Errors) != 0 || res.GeneratorCPU < 0 || res.Sent < res.Answered || res.Answered < res.Requests {
		t.Errorf("result %+v", res)
	}
}

func TestRunFails(t *testing.T) {
	s := serveScript(t, func(c *net.TCPConn, _ int) bool { return say(c, goodAnswer) })
	const nobody = "127.0.0.1:1" // a port that the kernel does not assign
	silent := serve(t, func(_ *scripted, c *net.TCPConn) {
		_, _ = c.Read(make([]byte, 1<<16)) // the end comes with the client's
		_, _ = c.Read(make([]byte, 1))
	})
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		spec func(*spec.Spec)
		want string
	}{
		{"no requests", func(s *spec.Spec) { s.Request = nil }, "request is empty"},
		{"no connections", func(s *spec.Spec) { s.Connections = 0 }, "connections is 0"},
		{"no pipeline", func(s *spec.Spec) { s.Pipeline = 0 }, "pipeline is 0"},
		{"no status", func(s *spec.Spec) { s.Expect.Status = 0 }, "expected status is 0"},
		{"no window", func(s *spec.Spec) { s.Window = 0 }, "window is 0s"},
		{"a name", func(s *spec.Spec) { s.Addr = "localhost:80" }, "parse address"},
		{"congestion", func(s *spec.Spec) { s.Congestion = "tortoise" }, `congestion control "tortoise" (available: `},
		{"nobody listens", func(s *spec.Spec) { s.Addr = nobody }, "connect " + nobody + ": connection refused"},
		{"nobody answers", func(s *spec.Spec) { s.Addr, s.Timeout = silent.addr, 100*time.Millisecond }, "no answer in time"},
		{"process gone", func(s *spec.Spec) { s.ServerPIDs = []int{gone.Process.Pid} }, "server process "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			order := testSpec(s.addr)
			order.Window, order.Tick = 20*time.Second, 20*time.Second // a run that gives up before a tick has no result
			tc.spec(order)
			events, err := collect(context.Background(), order)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error %v, want %q", err, tc.want)
			}
			if last := events[len(events)-1]; last.Error != err.Error() {
				t.Errorf("the last event is %+v", last)
			}
		})
	}
}

// A loop that cannot begin closes no descriptor that is not its own, for example standard
// input.
func TestFailedLoopClosesNothing(t *testing.T) {
	const stdin = "/proc/self/fd/0"
	before, err := os.Readlink(stdin)
	if err != nil {
		t.Fatal(err)
	}
	order := testSpec("127.0.0.1:1")
	order.Sources = []string{"there"}
	if _, err := newLoop(context.Background(), order); err == nil {
		t.Fatal("no error")
	}
	if name, err := os.Readlink(stdin); err != nil || name != before {
		t.Errorf("descriptor 0 is %q, %v; it was %q", name, err, before)
	}
}

// A server's process may end and another take its place: the run continues, and reports
// whose CPU time is missing.
func TestRunServerDies(t *testing.T) {
	s := serveScript(t, func(c *net.TCPConn, _ int) bool { return say(c, goodAnswer) })
	server := exec.Command("sleep", "60")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	order := testSpec(s.addr)
	order.Window, order.Tick, order.ServerPIDs = 300*time.Millisecond, 20*time.Millisecond, []int{os.Getpid(), server.Process.Pid}
	var result *spec.Result
	err := Run(context.Background(), order, func(e spec.Event) {
		switch {
		case e.Window:
			// It ends, and stays in the process table: nobody has waited for it.
			pid := server.Process.Pid
			if err := errors.Join(server.Process.Kill(), unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)); err != nil {
				t.Error(err)
			}
		case e.Result != nil:
			result = e.Result
		}
	})
	if err != nil || result == nil || !slices.Equal(result.Gone, order.ServerPIDs[1:]) || result.ServerCPU <= 0 || result.Cut {
		t.Errorf("error %v, %+v", err, result)
	}
	if err := server.Wait(); err == nil {
		t.Error("the server was not killed")
	}
}

// A run that gives up has a result of the time until then, and the reason.
func TestRunGivenUp(t *testing.T) {
	for _, open := range []bool{false, true} {
		var silent atomic.Bool
		s := serveScript(t, func(c *net.TCPConn, _ int) bool { return silent.Load() || say(c, goodAnswer) })
		server := exec.Command("sleep", "60")
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		order := testSpec(s.addr)
		order.Window, order.Tick, order.Timeout = 2*time.Minute, 20*time.Millisecond, 3*time.Second
		order.ServerPIDs = []int{server.Process.Pid}
		want := fmt.Sprintf("server process %d is gone: no right answer for ", server.Process.Pid)
		if open {
			order.Arrivals, order.ServerPIDs, want = &arrive.Plan{Rate: 500}, nil, "no right answer for "
		}
		var result *spec.Result
		err := Run(context.Background(), order, func(e spec.Event) {
			switch {
			case e.Tick != nil && e.Tick.T > 0 && e.Tick.Requests > 0:
				silent.Store(true)
				_ = server.Process.Kill() // or it is killed already
			case e.Result != nil:
				result = e.Result
			}
		})
		if err != nil || result == nil || !result.Cut || result.Requests == 0 || !strings.HasPrefix(result.GaveUp, want) {
			t.Errorf("open %v: error %v, %+v", open, err, result)
		}
		if err := server.Wait(); err == nil {
			t.Error("the server was not killed")
		}
		if result != nil && open && result.Open.Unfinished+result.Open.Failed == 0 {
			t.Errorf("all %d arrivals had an answer", result.Open.Due)
		}
	}
}

func TestRunCancelled(t *testing.T) {
	s := serveScript(t, func(c *net.TCPConn, _ int) bool { return say(c, goodAnswer) })
	order := testSpec(s.addr)
	order.Window, order.Tick = 30*time.Second, 30*time.Second // a run that ends before a tick has no result
	ctx, cancel := context.WithCancel(context.Background())
	var last spec.Event
	err := Run(ctx, order, func(e spec.Event) {
		last = e
		if e.Window {
			cancel()
		}
	})
	if !errors.Is(err, run.ErrCancelled) || last.Error != "cancelled" {
		t.Errorf("error %v, last event %+v", err, last)
	}
}

func TestManyConnections(t *testing.T) {
	s := serveScript(t, func(c *net.TCPConn, _ int) bool { return say(c, goodAnswer) })
	order := testSpec(s.addr)
	order.Connections = 1000
	l := drive(t, order, func(c *tally.Counters) bool { return c.Requests >= 3000 })
	if e := errorsOf(&l.rec.Counters); len(e) > 0 {
		t.Errorf("errors %v", e)
	}
}

// A cancelled window has a result of the time until then, and in an open loop its counts
// add up.
func TestRunCut(t *testing.T) {
	for _, open := range []bool{false, true} {
		s := serveScript(t, func(c *net.TCPConn, _ int) bool { return say(c, goodAnswer) })
		order := testSpec(s.addr)
		order.Window, order.Tick = 30*time.Second, 50*time.Millisecond
		if open {
			order.Arrivals = &arrive.Plan{Rate: 500}
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var window bool
		var result *spec.Result
		var counted uint64
		err := Run(ctx, order, func(e spec.Event) {
			switch {
			case e.Window:
				window = true
			case e.Tick != nil && window:
				counted += e.Tick.Requests
				cancel()
			case e.Result != nil:
				result = e.Result
			}
		})
		if err != nil || result == nil || !result.Cut {
			t.Fatalf("open %v: error %v, result %+v", open, err, result)
		}
		if result.Requests != counted || result.Seconds >= order.Window.Seconds() {
			t.Errorf("open %v: %d requests in %v s, the ticks have %d", open, result.Requests, result.Seconds, counted)
		}
		if !open {
			continue
		}
		l, err := results.ParseLatency(result.Histogram)
		if err != nil {
			t.Fatal(err)
		}
		if o := result.Open; o.Due == 0 || o.Due != l.Count+o.Failed {
			t.Errorf("due %d, failed %d, of %d the times are known", o.Due, o.Failed, l.Count)
		}
	}
}
