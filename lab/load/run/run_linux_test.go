package run

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/results"
)

// fake is a client with its own clock, which makes requests at the given rate.
type fake struct {
	now         int64
	rate        func(now int64) float64 // requests a second
	late        int64                   // how late Until returns, ns
	ends        error                   // returned by Until from endsAt on
	endsAt      int64
	rec         *tally.Recorder
	was, at     uint64
	from        uint64
	made        float64
	begin, over int64 // of the window, as passed to Begin
	cut         int64
	calls       []string
}

func (f *fake) Now() int64 { return f.now }

func (f *fake) Until(t int64) error {
	if f.ends != nil && t >= f.endsAt {
		f.now = max(f.now, f.endsAt)
		return f.ends
	}
	for t += f.late; f.now < t; {
		step := min(t-f.now, int64(time.Millisecond))
		f.now += step
		before := f.Requests()
		f.made += f.rate(f.now) * float64(step) / 1e9
		if n := f.Requests() - before; n > 0 {
			f.rec.Latency(1000, int(n))
		}
	}
	return nil
}

func (f *fake) Spun() int64               { return 0 }
func (f *fake) Requests() uint64          { return uint64(f.made) }
func (f *fake) Recorder() *tally.Recorder { return f.rec }
func (f *fake) Start()                    { f.calls = append(f.calls, "start") }
func (f *fake) Mark()                     { f.was, f.at = f.at, f.Requests() }

func (f *fake) Connect(r *Runner) error {
	f.calls = append(f.calls, "connect")
	r.Emit(spec.Event{Connected: true})
	return r.Step()
}

func (f *fake) Tick(t *spec.Tick, now int64) {
	t.Requests = f.at - f.was
	if now != f.now {
		panic(fmt.Sprintf("a tick that ends at %d, at %d", now, f.now))
	}
}

func (f *fake) Begin(begin, end int64) {
	f.calls = append(f.calls, "begin")
	f.from, f.begin, f.over = f.at, begin, end
}

func (f *fake) Cut(now int64) {
	f.calls = append(f.calls, "cut")
	f.cut, f.ends = now, nil
}

func (f *fake) Result(res *spec.Result, now int64) error {
	f.calls = append(f.calls, "result")
	res.Requests = f.at - f.from
	return nil
}

func (f *fake) Finish(*Runner, *spec.Result) error {
	f.calls = append(f.calls, "finish")
	return nil
}

func (f *fake) Close() error {
	f.calls = append(f.calls, "close")
	return nil
}

func constant(int64) float64 { return 10_000 }

// growing is a rate that never becomes steady.
func growing(now int64) float64 { return 10_000 * math.Exp(float64(now)/1e9) }

func order() *spec.Spec {
	return &spec.Spec{
		Addr: "127.0.0.1:1", Request: []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), Expect: spec.Expect{Status: 200}, Connections: 1, Pipeline: 1,
		Warmup: time.Second, Window: 2 * time.Second, Tick: 100 * time.Millisecond, Timeout: time.Second,
	}
}

// trace runs a client, and returns its events.
func trace(f *fake, order *spec.Spec) (events []spec.Event, err error) {
	f.rec = tally.NewRecorder()
	err = Do(order, func(e spec.Event) { events = append(events, e) }, func() (Client, error) { return f, nil })
	return events, err
}

// The phases are in order, and the ticks add up to the result.
func TestPhases(t *testing.T) {
	f := &fake{rate: constant, late: 1000}
	events, err := trace(f, order())
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(f.calls); got != "[connect start begin result finish close]" {
		t.Errorf("called %v", got)
	}
	var requests uint64
	var warm, ticks int
	for i, e := range events[1 : len(events)-1] {
		switch {
		case e.Window:
			warm, ticks, requests = ticks, 0, 0
		case e.Tick == nil:
			t.Errorf("event %d is %+v", i, e)
		case warm == 0 && e.Tick.T > 0, warm > 0 && e.Tick.T <= 0, math.Abs(e.Tick.Seconds-0.1) > 1e-4, len(e.Tick.Heat) != 1, e.Tick.Counts != "":
			t.Errorf("tick %+v", e.Tick)
		default:
			ticks, requests = ticks+1, requests+e.Tick.Requests
		}
	}
	res := events[len(events)-1].Result
	if !events[0].Connected || warm != 10 || ticks != 20 || res == nil || res.Requests != requests || requests == 0 {
		t.Fatalf("first %+v, %d and %d ticks, %d requests, result %+v", events[0], warm, ticks, requests, res)
	}
	if !res.Steady || res.Cut || math.Abs(res.WarmupSeconds-1) > 1e-5 || math.Abs(res.Seconds-2) > 1e-5 || f.over-f.begin != 2e9 {
		t.Errorf("result %+v, window of %d", res, f.over-f.begin)
	}
}

// The warm-up continues while the rate has a trend, except for one of several generators and
// for subscribers.
func TestWarmup(t *testing.T) {
	soon := func(now int64) float64 { return growing(min(now, 1e9)) }
	for _, c := range []struct {
		name   string
		rate   func(int64) float64
		change func(*spec.Spec)
		want   float64 // seconds
		steady bool
	}{
		{"steady", constant, nil, 1, true},
		{"steady later", soon, nil, 1.5, true},
		{"never steady", growing, nil, 3, false},
		{"one of several", growing, func(s *spec.Spec) { s.Member = true }, 1, false},
		{"subscribers", growing, func(s *spec.Spec) { s.Expect, s.Listen = spec.Expect{}, &spec.Subscribe{Format: spec.FormatEvents} }, 1, false},
		{"none", constant, func(s *spec.Spec) { s.Warmup = 0 }, 0, false},
		{"shorter than a tick", constant, func(s *spec.Spec) { s.Warmup = 10 * time.Millisecond }, 0.01, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			order := order()
			if c.change != nil {
				c.change(order)
			}
			events, err := trace(&fake{rate: c.rate}, order)
			if err != nil {
				t.Fatal(err)
			}
			res := events[len(events)-1].Result
			if res.WarmupSeconds != c.want || res.Steady != c.steady {
				t.Errorf("%v s, steady %v", res.WarmupSeconds, res.Steady)
			}
			var sum float64
			for _, e := range events {
				if e.Window {
					break
				}
				if e.Tick != nil {
					sum += e.Tick.Seconds
				}
			}
			if math.Abs(sum-c.want) > 1e-9 {
				t.Errorf("ticks of %v s", sum)
			}
		})
	}
}

// The ticks of a worker's window contain its latencies; those of its warm-up do not.
func TestMember(t *testing.T) {
	order := order()
	order.Member = true
	f := &fake{rate: constant}
	events, err := trace(f, order)
	if err != nil {
		t.Fatal(err)
	}
	sum, window := tally.DeltaHistogram(), false
	for _, e := range events {
		window = window || e.Window
		switch {
		case e.Tick == nil:
		case window != (e.Tick.Counts != ""):
			t.Errorf("window %v: %+v", window, e.Tick)
		case window:
			if err := tally.MergeDelta(sum, e.Tick.Counts); err != nil {
				t.Fatal(err)
			}
		}
	}
	want, err := tally.Encode(f.rec.Hist)
	if err != nil {
		t.Fatal(err)
	}
	if h, err := results.ParseLatency(want); err != nil || h.Count != uint64(sum.TotalCount()) || h.Count == 0 {
		t.Errorf("%d latencies in the ticks, %d in all, %v", sum.TotalCount(), h.Count, err)
	}
}

// A run that ends within its window has a result if a tick was complete.
func TestEnds(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name   string
		err    error
		after  time.Duration // since the run began
		cut    bool
		gaveUp string
	}{
		{"cancelled in the warm-up", ErrCancelled, 500 * time.Millisecond, false, ""},
		{"cancelled at once", ErrCancelled, 1050 * time.Millisecond, false, ""},
		{"cancelled", ErrCancelled, 1550 * time.Millisecond, true, ""},
		{"without hope", Hopeless{broken}, 1550 * time.Millisecond, true, "broken"},
		{"without hope in the warm-up", Hopeless{broken}, 500 * time.Millisecond, false, ""},
		{"broken", broken, 1550 * time.Millisecond, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{rate: constant, ends: c.err, endsAt: int64(c.after)}
			events, err := trace(f, order())
			last := events[len(events)-1]
			if f.calls[len(f.calls)-1] != "close" {
				t.Errorf("called %v", f.calls)
			}
			if !c.cut {
				if !errors.Is(err, c.err) || last.Error != err.Error() {
					t.Errorf("error %v, the last event is %+v", err, last)
				}
				return
			}
			if err != nil || last.Result == nil || !last.Result.Cut || last.Result.GaveUp != c.gaveUp || f.cut != int64(c.after) {
				t.Fatalf("error %v, cut at %d, the last event is %+v", err, f.cut, last)
			}
			if got := last.Result.Seconds; got != float64(f.cut-f.begin)/1e9 {
				t.Errorf("a window of %v s", got)
			}
		})
	}
}

// The error of a hopeless run reports that the server process has ended.
func TestServerGone(t *testing.T) {
	server := exec.Command("sleep", "60")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	order := order()
	order.ServerPIDs = []int{server.Process.Pid}
	f := &fake{rate: constant, ends: Hopeless{os.ErrDeadlineExceeded}, endsAt: int64(1500 * time.Millisecond), rec: tally.NewRecorder()}
	var res *spec.Result
	err := Do(order, func(e spec.Event) {
		switch {
		case e.Window:
			_ = server.Process.Kill() // Wait reports whether it worked
			if err := server.Wait(); err == nil {
				t.Error("the server was not killed")
			}
		case e.Result != nil:
			res = e.Result
		}
	}, func() (Client, error) { return f, nil })
	want := fmt.Sprintf("server process %d is gone: %v", order.ServerPIDs[0], os.ErrDeadlineExceeded)
	if err != nil || res == nil || res.GaveUp != want || len(res.Gone) != 1 {
		t.Errorf("error %v, %+v", err, res)
	}
}

// A run that cannot begin emits the error, and closes no client.
func TestNoClient(t *testing.T) {
	want := errors.New("no client")
	for _, c := range []struct {
		name   string
		change func(*spec.Spec)
		want   string
	}{
		{"not made", func(*spec.Spec) {}, want.Error()},
		{"not valid", func(s *spec.Spec) { s.Window = 0 }, "spec: window is 0s"},
	} {
		order, last := order(), spec.Event{}
		c.change(order)
		err := Do(order, func(e spec.Event) { last = e }, func() (Client, error) { return nil, want })
		if err == nil || err.Error() != c.want || last.Error != c.want {
			t.Errorf("%s: error %v, event %+v", c.name, err, last)
		}
	}
}
