package subscribe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/redline-go/redline/lab/load/run"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/load/tlsclient"
	"github.com/redline-go/redline/lab/load/wire"
)

// client is the run.Client of a Loop.
type client struct {
	*Loop
	delays, gaps, lags *tally.Recorder
	from, was, at      Counts  // at the beginning of the window, at the last tick but one, and at the last tick
	took               float64 // seconds that Connect took
	before             uint64  // resident memory without subscribers, bytes
}

// Run runs the subscribers that order specifies until the window or ctx ends, and reports
// through emit; see run.Do.
func Run(ctx context.Context, order *spec.Spec, emit func(spec.Event)) error {
	return run.Do(order, emit, func() (run.Client, error) { return newClient(ctx, order) })
}

func newClient(ctx context.Context, order *spec.Spec) (*client, error) {
	sources, err := wire.ParseSources(order.Sources)
	if err != nil {
		return nil, err
	}
	c := &client{delays: tally.NewRecorder(), gaps: tally.NewRecorder(), lags: tally.NewRecorder()}
	if c.before, err = resident(); err != nil {
		return nil, err
	}
	var secure *tlsclient.Client
	if order.TLS != nil {
		if secure, err = tlsclient.For(order.TLS, order.HTTP2); err != nil {
			return nil, err
		}
	}
	c.Loop, err = New(ctx, &Options{
		Config: *order.Listen, Addr: order.Addr, Request: order.Request, Subscribers: order.Places(), Timeout: order.Timeout,
		ConnectRate: order.ConnectRate, Sources: sources, Congestion: order.Congestion,
		TLS: secure, HTTP2: order.HTTP2, Share: order.Streams,
	}, c)
	return c, err
}

// Delay implements Recorder.
func (c *client) Delay(d time.Duration) { c.delays.Latency(int64(d), 1) }

// Gap implements Recorder.
func (c *client) Gap(d time.Duration) { c.gaps.Latency(int64(d), 1) }

// Lag implements Recorder.
func (c *client) Lag(d time.Duration, events int) { c.lags.Latency(int64(d), events) }

// Requests implements run.Client, as do the methods below.
func (c *client) Requests() uint64 { return c.Counts().Events }

// Recorder returns the recorder of the delays.
func (c *client) Recorder() *tally.Recorder { return c.delays }

// Connect waits until each subscriber has stood once, or no more connect. The result
// reports how many are missing.
func (c *client) Connect(r *run.Runner) error {
	patience := int64(r.Spec.Timeout + r.Spec.Timeout/2)
	begin := c.Now()
	most, grew, told := 0, begin, begin
	// Subscribers that have stood are counted, because streams may end before the last one connects.
	for stood := &c.book.stood; *stood < c.Expected() || *stood == 0; {
		if err := r.Step(); err != nil {
			return err
		}
		now := c.Now()
		if *stood >= most+max(r.Spec.Places()/100, 1) {
			most, grew = *stood, now // slower progress does not count: it could last forever
		}
		if *stood == 0 {
			if err := c.Hope(); err != nil {
				return err
			}
		} else if now-grew > patience {
			break
		}
		if *stood > 0 && now-told > int64(r.Spec.Tick) {
			told = now
			r.Emit(spec.Event{Standing: *stood})
		}
	}
	c.took = float64(c.Now()-begin) / 1e9
	return tell(r)
}

// tell emits Event.Connected. Emit returns when the other generators are ready; until then
// the subscribers read events.
func tell(r *run.Runner) error {
	told := make(chan struct{})
	go func() {
		defer close(told)
		r.Emit(spec.Event{Connected: true})
	}()
	for {
		err := r.Step()
		if err != nil {
			<-told
			return err
		}
		select {
		case <-told:
			return nil
		default:
		}
	}
}

// Start lets the publishers publish, and subscribers leave. They have sent their requests when
// they were connected.
func (c *client) Start() {
	now := c.Now()
	c.book.startChurn(now)
	if c.pubs != nil {
		c.pubs.start(now)
	}
}

// Mark copies the counts.
func (c *client) Mark() { c.was, c.at = c.at, *c.Counts() }

// Tick stores the counts between the last two marks in t.
func (c *client) Tick(t *spec.Tick, _ int64) {
	d := c.at.Since(&c.was)
	t.Requests, t.Errors = d.Events, d.Failures()
	t.Held = float64(c.thread.Take()) / 1e9 / t.Seconds
	t.BytesIn, t.BytesOut = d.BytesIn, d.BytesOut
	if t.Errors > 0 {
		t.Kinds = d.ByKind()
	}
	t.Listen = &spec.Heard{
		Standing: c.Standing(), BytesIn: d.BytesIn, Missed: d.Missed, Duplicated: d.Duplicated, Reconnects: d.Reconnects,
	}
	t.Listen.GapP50, t.Listen.GapP99, _ = c.gaps.Take()
	_, t.Listen.LagP99, _ = c.lags.Take()
}

// Begin begins the window.
func (c *client) Begin(begin, end int64) {
	c.from = c.at
	c.thread.Begin(begin, end)
	c.gaps.Begin()
	c.lags.Begin()
	c.Loop.Begin()
	if c.pubs != nil {
		c.pubs.begin()
	}
}

// Cut ends the window.
func (c *client) Cut(int64) { c.done = nil }

// Result stores the counts and distributions of the window in res.
func (c *client) Result(res *spec.Result, _ int64) (err error) {
	d := c.at.Since(&c.from)
	res.Requests, res.Errors, res.BytesIn, res.BytesOut = d.Events, d.ByKind(), d.BytesIn, d.BytesOut
	res.Connects, res.Listen = c.at.Connects, &spec.Subscribed{Connect: c.took}
	res.Stalls, res.Stalled = c.thread.Stalls.Result(), c.thread.Stalls.Sum()
	Fill(res.Listen, &d)
	c.Loop.Finish(res.Listen)
	res.Listen.Slow = c.book.slowHeard(&d.Slow)
	if c.pubs != nil {
		if res.Listen.Publish, err = c.pubs.result(); err != nil {
			return err
		}
	}
	c.silences()
	if res.Histogram, err = tally.Encode(c.delays.Hist); err != nil {
		return err
	}
	if res.Listen.Gap, err = tally.Encode(c.gaps.Hist); err != nil {
		return err
	}
	res.Listen.Lag, err = tally.Encode(c.lags.Hist)
	return err
}

// silences records the time since the last event of each subscriber as a lower bound of a
// gap, if it is longer than any gap of the window: a stream that has stopped must not look
// better than one that has not. If there was no gap, the rate of the stream is unknown, and
// nothing is recorded.
func (c *client) silences() {
	longest := c.gaps.Hist.Max()
	if longest == 0 {
		return
	}
	for silence := range c.Loop.Silences() {
		if silence > longest {
			tally.Record(c.gaps.Hist, silence, 1)
		}
	}
}

// settleFor is the maximum of the time in which events arrive after the window.
const settleFor = int64(5 * time.Second)

// settle ends publishing, and waits until the subscribers have received all that was published.
func (c *client) settle(r *run.Runner, h *spec.Subscribed) error {
	c.book.stopChurn()
	c.pubs.stop()
	until := c.Now() + min(c.book.timeout, settleFor)
	for now := c.Now(); now < until && (c.pubs.busy() || c.book.behind() > 0); now = c.Now() {
		if err := r.Until(now + int64(10*time.Millisecond)); err != nil {
			return err
		}
	}
	h.Publish.Lost = c.book.behind()
	h.Missed += c.book.Missed - c.at.Missed
	h.Duplicated += c.book.Duplicated - c.at.Duplicated
	return nil
}

// Finish adds memory and TLS handshakes, which are not limited to the window, and what is known
// of events after it.
func (c *client) Finish(r *run.Runner, res *spec.Result) (err error) {
	if c.pubs != nil {
		if err := c.settle(r, res.Listen); err != nil {
			return err
		}
	}
	if res.Listen.Memory, err = resident(); err != nil {
		return err
	}
	res.Listen.Each = max(0, float64(res.Listen.Memory)-float64(c.before)) / float64(r.Spec.Places())
	res.TLS, err = c.TLS()
	return err
}

// resident returns the resident memory of this process in bytes.
func resident() (uint64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("read own memory: %w", err)
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0, errors.New("read own memory: statm is too short")
	}
	pages, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read own memory: %w", err)
	}
	return pages * uint64(os.Getpagesize()), nil
}
