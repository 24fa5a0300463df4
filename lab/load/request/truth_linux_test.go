package request

import (
	"net"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
)

// witness is a server that records how long it took for each request.
type witness struct {
	mu    sync.Mutex
	held  []int64
	begin time.Time // of the first request
	until time.Time // nothing is answered before; zero: no stall
}

// answer takes at least delay.
func (w *witness) answer(c *net.TCPConn, delay time.Duration) bool {
	from := time.Now()
	if delay > 0 {
		time.Sleep(delay)
	}
	w.mu.Lock()
	rest := time.Until(w.until)
	w.mu.Unlock()
	if rest > 0 {
		time.Sleep(rest)
	}
	w.mu.Lock()
	w.held = append(w.held, int64(time.Since(from)))
	w.mu.Unlock()
	return say(c, goodAnswer)
}

// sorted returns the recorded times, sorted.
func (w *witness) sorted() []int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.held)
	return w.held
}

// above checks that a histogram, rank by rank from the top, is no less than a
// sample. Each request took longer for the client than for the server, so the
// same is true of the sorted lists, on any machine and under any load; a generator
// that measured from another moment, or omitted answers, would fail. The histogram may
// hold fewer values than the sample: it lacks answers outside of the window.
func above(t *testing.T, what string, h *hdrhistogram.Histogram, sample []int64) {
	t.Helper()
	n := int(h.TotalCount())
	if n == 0 || n > len(sample) {
		t.Fatalf("%s: %d samples of %d", what, n, len(sample))
	}
	// The smallest n of the sample are a lower bound.
	for rank := 1; rank <= n; rank++ {
		got, least := h.ValueAtQuantile(100*float64(rank)/float64(n)), sample[rank-1]
		if float64(got) < 0.999*float64(least) {
			t.Fatalf("%s: number %d of %d is %v, the server alone took %v", what, rank, n, time.Duration(got), time.Duration(least))
		}
	}
}

func TestTruthEndToEnd(t *testing.T) {
	for name, delay := range map[string]func(n int) time.Duration{
		"at once": func(int) time.Duration { return 0 },
		"5 ms":    func(int) time.Duration { return 5 * time.Millisecond },
		"bimodal": func(n int) time.Duration { return time.Duration(n%2) * 10 * time.Millisecond },
	} {
		for loop, arrivals := range map[string]*arrive.Plan{"closed": nil, "open": {Rate: 500}} {
			t.Run(name+", "+loop, func(t *testing.T) {
				w := &witness{}
				s := serveScript(t, func(c *net.TCPConn, n int) bool { return w.answer(c, delay(n)) })
				order := testSpec(s.addr)
				order.Connections, order.Window, order.Tick, order.Arrivals = 16, 150*time.Millisecond, 50*time.Millisecond, arrivals
				events := collectSome(t, order)
				res := events[len(events)-1].Result
				if len(res.Errors) > 0 {
					t.Errorf("errors %v", res.Errors)
				}
				above(t, "latency", decode(t, res.Histogram), w.sorted())
				above(t, "first byte", decode(t, res.FirstByte), w.sorted())
				if res.Open != nil {
					above(t, "service time", decode(t, res.Open.Service), w.sorted())
				}
			})
		}
	}
}

// A server that stalls for 300 ms at a thousand arrivals a second: those of
// the first 200 ms waited for 100 ms and more, all of them, sent or not. In a closed
// loop there are no more than there are connections. (That is not asserted: a machine may
// add its own delays.)
func TestStallEndToEnd(t *testing.T) {
	const (
		rate  = 1000
		stall = 300 * time.Millisecond
		long  = int64(100 * time.Millisecond)
		lead  = 10 * time.Millisecond // from the beginning of the stall in the server to the next arrival
	)
	w := &witness{}
	s := serveScript(t, func(c *net.TCPConn, _ int) bool {
		w.mu.Lock()
		switch now := time.Now(); {
		case w.begin.IsZero():
			w.begin = now
		case w.until.IsZero() && now.Sub(w.begin) > 100*time.Millisecond:
			w.until = now.Add(stall)
		}
		w.mu.Unlock()
		return w.answer(c, 0)
	})
	order := testSpec(s.addr)
	order.Connections, order.Window, order.Tick = 8, time.Second, 100*time.Millisecond
	order.Arrivals = &arrive.Plan{Rate: rate}
	var opened time.Time // the window, no earlier than here
	res := runOpenSeen(t, order, func(e spec.Event) {
		if e.Window {
			opened = time.Now()
		}
	})
	h := decode(t, res.Histogram)
	var waited int64
	for _, bar := range h.Distribution() {
		if bar.From >= long {
			waited += bar.Count
		}
	}
	// On a slow machine the stall may be late: arrivals due after the window are
	// not counted.
	w.mu.Lock()
	begun := w.until.Add(-stall)
	w.mu.Unlock()
	due := min(stall-time.Duration(long), opened.Add(order.Window).Sub(begun)) - lead
	if want := int64(due/time.Millisecond) * rate / 1000; waited < want {
		t.Errorf("%d arrivals waited for %v, %d must have", waited, time.Duration(long), want)
	}
	if due > 0 && h.Max() < int64(stall-lead) {
		t.Errorf("the longest waited for %v", time.Duration(h.Max()))
	}
	above(t, "service time", decode(t, res.Open.Service), w.sorted())
}

// Over ten minutes of load, with a hundred points of the time series a second, the
// counts do not grow.
func TestMemoryStaysFlat(t *testing.T) {
	g := tally.NewLedger(tally.NewRecorder())
	g.Begin(0, 600*sec)
	minute := func(from int64) {
		for at := from; at < from+60*sec; at += 10 * ms {
			for i := range int64(20) {
				a := g.Send(arrive.Arrival{Intended: at, Possible: at + i}, at+i)
				g.Right(&a, at+i*i*ms)
			}
			g.Rec.Connects++
			tally.Record(g.Rec.Connect, at%sec, 1)
			g.Rec.Take()
			g.Take()
		}
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	minute(0)
	before := heap()
	for m := int64(1); m < 10; m++ {
		minute(m * 60 * sec)
	}
	if after := heap(); after > before+64<<10 {
		t.Errorf("%d bytes after ten minutes, %d after one", after, before)
	}
	if n := g.Rec.Hist.TotalCount(); n != 600*100*20 {
		t.Errorf("%d samples", n)
	}
}

// Servers whose heads and bodies do not end, and clients that reconnect again and again:
// none of their bytes are kept.
func TestFaultsKeepNoMemory(t *testing.T) {
	for _, tc := range misbehaviours {
		if tc.kind != spec.ErrHeader && tc.kind != spec.ErrEndless {
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			s := serveScript(t, func(c *net.TCPConn, n int) bool {
				if n == 2 {
					return tc.do(c)
				}
				return say(c, goodAnswer)
			})
			order := scenarioSpec(s.addr, "targets: [{url: /, checks: [{body: {contains: hello}}]}]\n")
			order.MaxBody = 1 << 20
			l := drive(t, order, func(c *tally.Counters) bool { return c.Failures() >= 20 })
			if e := errorsOf(&l.rec.Counters); len(e) != 1 || e[tc.kind] < 20 {
				t.Errorf("errors %v", e)
			}
			held := 0
			for _, k := range l.play.free {
				held += cap(k.head) + cap(k.body)
			}
			if most := order.Connections * (2*keptBody + 128<<10); held > most || len(l.play.free) > order.Connections {
				t.Errorf("%d bytes in %d buffers, at most %d", held, len(l.play.free), most)
			}
		})
	}
}
