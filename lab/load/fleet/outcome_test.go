package fleet

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/load/tally"
)

// encode returns a histogram in the format of generators.
func encode(t *testing.T, h *hdrhistogram.Histogram) string {
	t.Helper()
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// rig is a coordinator whose workers and times are supplied by the test, without processes.
type rig struct {
	*coordinator
	t *testing.T
}

type nowhere struct{}

func (nowhere) Send(string, *Message) error { return nil }
func (nowhere) Inbox() <-chan *Message      { return nil }

func newRig(t *testing.T, n int, rate float64, window time.Duration) rig {
	t.Helper()
	shares, err := Split(Load{Workers: n, Connections: n, Rate: rate})
	if err != nil {
		t.Fatal(err)
	}
	plan := Plan{Window: window, Tick: 100 * time.Millisecond}
	for _, s := range shares {
		plan.Orders = append(plan.Orders, Order{Share: s})
	}
	if err := plan.defaults(); err != nil {
		t.Fatal(err)
	}
	c := &coordinator{
		plan: plan, carrier: nowhere{}, clock: newClock(), bound: time.Now().Add(time.Hour),
		members: make([]*member, n), byID: map[string]*member{}, refused: map[string]bool{}, series: seriesOf(&plan), awake: awakeClock{every: beatEvery},
	}
	r := rig{c, t}
	for i := range n {
		r.say(i, &Message{Join: &Join{Protocol: protocol, Index: i, Host: "host", PID: 100 + i}})
		r.members[i].offset = estimate{Offset: Offset{Nanoseconds: int64(i) * 5e9, Uncertainty: 1000, Exchanges: 8}}
	}
	r.phase, r.start = running, c.clock.now()
	return r
}

func (r rig) say(i int, m *Message) {
	r.t.Helper()
	m.From, m.Arrived = string(rune('a'+i)), time.Now()
	if err := r.take(m); err != nil {
		r.t.Fatal(err)
	}
}

// event reports an event, at a time after the start on the agreed clock.
func (r rig) event(i int, at time.Duration, e any) {
	r.t.Helper()
	b, err := json.Marshal(e)
	if err != nil {
		r.t.Fatal(err)
	}
	r.say(i, &Message{Report: &Report{At: r.start + int64(at) + r.members[i].offset.Nanoseconds, Event: b}})
}

type fields = map[string]any

// TestWorkerLostHalfWay: one of four workers at 250 requests/s each stops responding after
// five of ten seconds.
func TestWorkerLostHalfWay(t *testing.T) {
	for _, withHistograms := range []bool{false, true} {
		r := newRig(t, 4, 1000, 10*time.Second)
		all := r.loseHalfWay(2, withHistograms)
		if !r.finished() {
			t.Fatal("not finished")
		}
		o, err := r.outcome()
		if err != nil {
			t.Fatal(err)
		}
		if o.Requests != 8750 || o.Seconds != 10 || o.Rate != 875 || math.Abs(o.RateMeasured-1000) > 1e-6 {
			t.Errorf("%d requests in %v s, rates %v and %v", o.Requests, o.Seconds, o.Rate, o.RateMeasured)
		}
		if o.Planned != 1000 || math.Abs(o.Adjusted-875) > 1e-6 || math.Abs(o.Lost-0.125) > 1e-9 {
			t.Errorf("planned %v, adjusted %v, lost %v", o.Planned, o.Adjusted, o.Lost)
		}
		if o.Errors["reset"] != 4 || o.Sums["bytes_in"] != 300 || o.Sums["generator_cpu"] != 0 {
			t.Errorf("errors %v, sums %v", o.Errors, o.Sums)
		}
		got, err := o.Latency["hdr"].Decode()
		if err != nil || !got.Equals(all) {
			t.Errorf("the latencies are not those of the samples: %d of %d, %v", got.TotalCount(), all.TotalCount(), err)
		}
		if o.Latency["open.wait_hdr"].Count != 7500 || o.Sums["open.due"] != 7500 || o.Sums["open.share"] != 0 {
			t.Errorf("open.wait_hdr has %d, sums %v", o.Latency["open.wait_hdr"].Count, o.Sums)
		}
		if p := o.Workers[2]; math.Abs(p.Seconds-5) > 1e-6 || math.Abs(p.Rate-250) > 1e-3 || p.LostAt != 6 || p.Lost == "" {
			t.Errorf("worker 2: %+v", p)
		}
		checkWords(t, o, withHistograms)
		checkSeries(t, o)
	}
}

// TestWorkerLostCounted: if the window ends after a number of requests, its planned length is only
// a maximum, and the loss is a share of the measured one.
func TestWorkerLostCounted(t *testing.T) {
	r := newRig(t, 4, 1000, time.Hour)
	r.plan.Counted = true
	r.loseHalfWay(2, true)
	o, err := r.outcome()
	if err != nil {
		t.Fatal(err)
	}
	const want = "was lost 5.00 s into the window of 10.00 s: it stopped responding. 12.5 % of the planned load"
	if len(o.Failures) != 1 || !strings.Contains(o.Failures[0], want) {
		t.Errorf("failures %q, want %q", o.Failures, want)
	}
}

// loseHalfWay simulates ten seconds, of which one worker reports five, and returns the
// expected distribution of latencies.
func (r rig) loseHalfWay(lost int, withHistograms bool) *hdrhistogram.Histogram {
	r.t.Helper()
	random := rand.New(rand.NewPCG(1, 9))
	all := hdrhistogram.New(1, 60e9, 3)
	for i := range r.members {
		r.event(i, time.Second, fields{"window": true})
		whole := hdrhistogram.New(1, 60e9, 3)
		for k := range 100 {
			if i == lost && k == 50 {
				r.members[i].lose(r.start+int64(6*time.Second), "it stopped responding")
				break
			}
			h := tally.NewDelta()
			for range 25 {
				ns := 1 + random.Int64N(1e9)
				h.Add(ns, 1)
				if err := whole.RecordValue(ns); err != nil {
					r.t.Fatal(err)
				}
			}
			e := fields{"t": float64(k+1) / 10, "seconds": 0.1, "requests": 25, "errors": 0}
			if withHistograms {
				e["counts"] = h.Take()
			}
			r.event(i, time.Duration(k)*100*time.Millisecond, fields{"tick": e})
		}
		if i != lost || withHistograms {
			all.Merge(whole)
		}
		if i != lost {
			r.event(i, 11*time.Second, fields{"result": fields{
				"seconds": 10, "requests": 2500, "errors": fields{"reset": i}, "bytes_in": 100, "generator_cpu": 3,
				"hdr": encode(r.t, whole), "open": fields{"due": 2500, "sent": 2480, "share": 1, "wait_hdr": encode(r.t, whole)},
			}})
		}
	}
	return all
}

// checkWords expects one failure, and none about the rate: the other workers sent their
// shares.
func checkWords(t *testing.T, o *Outcome, withHistograms bool) {
	t.Helper()
	if len(o.Failures) != 1 {
		t.Fatalf("failures %q", o.Failures)
	}
	want := []string{"worker 2 (process 102 on host) was lost 5.00 s into the window of 10s: it stopped responding", "12.5 % of the planned load"}
	if withHistograms {
		want = append(want, "its 1250 requests of the preceding 5.00 s are counted")
	} else {
		want = append(want, "not in the latencies")
	}
	for _, w := range want {
		if !strings.Contains(o.Failures[0], w) {
			t.Errorf("%q does not contain %q", o.Failures[0], w)
		}
	}
}

// checkSeries expects the points on the agreed axis, for any offsets of the workers' clocks.
func checkSeries(t *testing.T, o *Outcome) {
	t.Helper()
	var sum uint64
	for _, p := range o.Series {
		sum += p.Requests
		if p.T > 1.05 && p.T < 5.95 && (p.Workers < 3.99 || p.Rate < 990 || p.Rate > 1010) {
			t.Errorf("at %v: %v workers, %v/s", p.T, p.Workers, p.Rate)
		}
		if p.T > 6.15 && p.T < 10.95 && (p.Workers < 2.99 || p.Workers > 3.01 || p.Rate > 760) {
			t.Errorf("at %v: %v workers, %v/s", p.T, p.Workers, p.Rate)
		}
	}
	if sum != 8750 || o.Begin < 0.999 || o.Begin > 1.001 {
		t.Errorf("%d in the series, window from %v", sum, o.Begin)
	}
}

// finish reports a result of worker i.
func (r rig) finish(i int, begin time.Duration, requests int) {
	r.t.Helper()
	r.event(i, begin, fields{"window": true})
	r.event(i, begin+10*time.Second, fields{"result": fields{"seconds": 10, "requests": requests, "hdr": ""}})
}

func TestJudgement(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(r rig)
		want string // of the one failure; empty: none
	}{
		{"valid", func(r rig) { r.finish(1, 0, 5000) }, ""},
		{"apart", func(r rig) { r.finish(1, time.Second, 5000) }, "windows began up to 1.00 s apart"},
		{"late", func(r rig) {
			r.members[1].startAt = 1000
			r.say(1, &Message{Began: &Began{At: 1000 + 250e6}})
			r.finish(1, 0, 5000)
		}, "worker 1 (process 101 on host) began 250.0 ms after the agreed time"},
		{"unknown clock", func(r rig) {
			r.members[1].offset.Uncertainty = 60e6
			r.finish(1, 0, 5000)
		}, "known only to ±60.0 ms"},
		{"dropped", func(r rig) {
			r.say(1, &Message{Report: &Report{Dropped: 3, Event: json.RawMessage(`{}`)}})
			r.finish(1, 0, 5000)
		}, "3 ticks of worker 1"},
		{"lost before its window", func(r rig) { r.say(1, &Message{Gone: &Gone{"its process ended"}}) }, "before its window: its process ended. 50.0 % of the planned load was not sent; none of its requests are counted"},
		{"no JSON", func(r rig) { r.say(1, &Message{Report: &Report{Event: json.RawMessage(`[`)}}) }, "its report cannot be read"},
		{"no result", func(r rig) {
			r.event(1, 0, fields{"window": true})
			r.event(1, 0, fields{"result": fields{"seconds": 10, "requests": 1, "hdr": "AAAA"}})
		}, "hdr of its result"},
		{"no length", func(r rig) { r.event(1, 0, fields{"result": fields{"requests": 1}}) }, "no window length"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, 2, 1000, 10*time.Second)
			r.finish(0, 0, 5000)
			c.do(r)
			if !r.finished() {
				t.Fatal("not finished")
			}
			o, err := r.outcome()
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case c.want == "" && len(o.Failures) > 0:
				t.Errorf("failures %q", o.Failures)
			case c.want != "" && (len(o.Failures) != 1 || !strings.Contains(o.Failures[0], c.want)):
				t.Errorf("failures %q, want one with %q", o.Failures, c.want)
			}
			if o.Requests < 5000 {
				t.Errorf("%d requests: worker 0 is not in it", o.Requests)
			}
		})
	}
}

// A silent worker is lost, but not because the coordinator was suspended.
func TestSilence(t *testing.T) {
	r := newRig(t, 2, 0, time.Second)
	at := time.Now()
	r.loseSilent(at)
	at = at.Add(time.Hour)
	if r.loseSilent(at); r.members[0].lost != nil || r.members[1].lost != nil {
		t.Fatal("lost while the coordinator was suspended")
	}
	for end := at.Add(r.plan.Silence); at.Before(end); at = at.Add(beatEvery) {
		r.say(0, &Message{Echo: &Echo{}})
		r.loseSilent(at)
	}
	if r.loseSilent(at); r.members[0].lost != nil || r.members[1].lost == nil || r.members[1].lost.Cause != "it stopped responding" {
		t.Errorf("lost: %+v, %+v", r.members[0].lost, r.members[1].lost)
	}
}

func TestNobodyLeft(t *testing.T) {
	r := newRig(t, 2, 0, time.Second)
	for i := range 2 {
		r.say(i, &Message{Gone: &Gone{"out of cheese"}})
	}
	if o, err := r.outcome(); err == nil || strings.Count(err.Error(), "out of cheese") != 2 {
		t.Errorf("%+v, %v", o, err)
	}
}

// A merge of histograms with different ranges must not lose samples silently.
func TestHistogramBeyondTheRange(t *testing.T) {
	r := newRig(t, 2, 0, time.Second)
	small, large := hdrhistogram.New(1, 1e6, 3), hdrhistogram.New(1, 60e9, 3)
	if err := large.RecordValue(50e9); err != nil {
		t.Fatal(err)
	}
	for i, h := range []*hdrhistogram.Histogram{small, large} {
		r.event(i, 0, fields{"result": fields{"seconds": 1, "requests": 1, "hdr": encode(t, h)}})
	}
	o, err := r.outcome()
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Failures) != 1 || !strings.Contains(o.Failures[0], "beyond the range") || o.Requests != 1 {
		t.Errorf("failures %q, %d requests", o.Failures, o.Requests)
	}
	if _, ok := o.Latency["hdr"]; !ok || o.Latency["hdr"].Count != 0 {
		t.Errorf("latency %+v", o.Latency)
	}
}

func TestLivePointsWaitForAll(t *testing.T) {
	r := newRig(t, 2, 0, time.Second)
	var shown []Point
	r.plan.OnPoint = func(p Point) { shown = append(shown, p) }
	tick := func(i int, end time.Duration) {
		r.event(i, end, fields{"tick": fields{"seconds": 0.1, "requests": 10}})
		r.show(false)
	}
	tick(0, 100*time.Millisecond)
	tick(0, 200*time.Millisecond)
	if len(shown) != 0 {
		t.Fatalf("%d points before the first tick of worker 1", len(shown))
	}
	tick(1, 101*time.Millisecond)
	if len(shown) != 1 || shown[0].Requests != 20 {
		t.Fatalf("%+v", shown)
	}
	r.members[1].lose(r.start, "gone")
	r.show(false)
	if len(shown) != 2 {
		t.Fatalf("%d points without worker 1", len(shown))
	}
	r.show(true)
	if len(shown) != len(r.series.bins) {
		t.Fatalf("%d of %d points at the end", len(shown), len(r.series.bins))
	}
}
