package request

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redline-go/redline/lab/load/run"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
)

const (
	drainFor = 100 * time.Millisecond // for answers to requests that are not part of the window
	cutFor   = time.Second            // for the answers to an open loop that was cut short
	holdFor  = 200 * time.Millisecond // idle connections, for a parent that inspects the server at the last tick
)

// Run generates the load of order and reports through emit; see run.Do.
// It ends when ctx does.
func Run(ctx context.Context, order *spec.Spec, emit func(spec.Event)) error {
	return run.Do(order, emit, func() (run.Client, error) {
		if order.Listen != nil {
			return nil, errors.New("spec: subscribers are for package subscribe")
		}
		l, err := newLoop(ctx, order)
		if err != nil {
			return nil, err
		}
		return &client{loop: l}, nil
	})
}

// client is a loop in a run.
type client struct {
	*loop
	from, was, at tally.Counters // when the window began, at the last tick but one, and at the last
	tail          *tail          // of a closed loop whose window has ended
}

// Requests returns the right answers so far. It and the methods below implement run.Client.
func (c *client) Requests() uint64 { return c.rec.Requests }

// Recorder records the latencies.
func (c *client) Recorder() *tally.Recorder { return c.rec }

// Connect waits until all connections are established; idle ones have had their answer.
func (c *client) Connect(r *run.Runner) error {
	want, ready := c.taking(), &c.standing
	if c.spec.Idle {
		ready = &c.held
		c.start()
	}
	for *ready < want {
		if err := r.Step(); err != nil {
			return err
		}
		if c.spec.Idle && c.rec.Answered > 2*uint64(want) {
			return fmt.Errorf("connections do not stay open: %d of %d are open after %d answers", c.held, want, c.rec.Answered)
		}
	}
	r.Emit(spec.Event{Connected: true})
	return nil
}

// Start sends the first requests, unless there is no warm-up.
func (c *client) Start() {
	if !c.spec.Idle && !c.beginsCold() {
		c.start()
	}
}

// Mark keeps the present counts.
func (c *client) Mark() { c.was, c.at = c.at, c.rec.Counters }

// Tick stores the counts between the last two marks in t.
func (c *client) Tick(t *spec.Tick, now int64) {
	t.Requests, t.Errors = c.at.Requests-c.was.Requests, c.at.Failures()-c.was.Failures()
	t.BytesIn, t.BytesOut = c.at.BytesIn-c.was.BytesIn, c.at.BytesOut-c.was.BytesOut
	if t.Errors > 0 {
		t.Kinds = c.at.KindsSince(&c.was)
	}
	if len(t.Heat) == 0 {
		c.ages(t, now)
	}
	if c.ramp != nil {
		t.Users = c.standing * max(c.spec.Streams, 1)
	}
	t.InFlight, t.InFlightMax = c.flight.Take(now)
	t.Held = float64(c.thread.Take()) / 1e9 / t.Seconds
	if c.play != nil {
		t.TargetHeat = c.play.moments.take()
	}
	if c.open != nil {
		t.SendLag, t.Waiting = c.open.Take(), c.open.queue.Waiting(now)
	}
}

// Begin begins the window.
func (c *client) Begin(begin, end int64) {
	c.from = c.at
	if c.ramp != nil {
		c.ramp.begin(begin, end, c.at.Failures())
	}
	c.flight.Begin(begin, end)
	c.answers = tally.Answers{}
	if c.rules.Sample != nil {
		c.rules.Sample.Reset()
	}
	c.thread.Begin(begin, end)
	if c.counts() {
		c.quota.want = c.at.Requests + c.at.Failures() + c.spec.Requests
		c.quota.begin(c.spec.Requests, c.underWay())
	}
	if c.beginsCold() {
		c.start()
	}
	if c.play != nil {
		c.play.begin()
	}
	if c.open != nil {
		c.open.Begin(begin, end)
		c.open.Divide(c.spec.Arrivals.Steps(time.Duration(end - begin)))
		c.open.queue.Begin(c.spec.Arrivals, begin, end)
	}
}

// Cut ends the window now. Giving up is not checked again, and a second cancellation only ends
// the wait for answers: the rest of the run is completed.
func (c *client) Cut(now int64) {
	c.loop.done, c.resigned = run.Again(c.ctx), true
	if c.open != nil {
		c.open.Begin(c.open.From, now)
		c.open.queue.End(now)
	}
}

// Result stores the counts of the window in res.
func (c *client) Result(res *spec.Result, now int64) error {
	res.Requests = c.at.Requests - c.from.Requests
	res.BytesIn, res.BytesOut = c.at.BytesIn-c.from.BytesIn, c.at.BytesOut-c.from.BytesOut
	res.TimedOut = c.at.TimedOut - c.from.TimedOut
	res.Early, res.Dropped = c.at.Early-c.from.Early, c.at.Dropped-c.from.Dropped
	res.Retried = c.at.Retried - c.from.Retried
	res.Errors = c.at.KindsSince(&c.from)
	if c.ramp != nil {
		var err error
		if res.Ramp, err = c.ramp.result(c.at.Failures()); err != nil {
			return err
		}
	}
	res.Held = c.held
	c.describeAnswers(res)
	res.InFlight, res.InFlightMax = c.flight.Window()
	res.Stalls, res.Stalled, res.Silences = c.thread.Stalls.Result(), c.thread.Stalls.Sum(), c.flight.Silences(now)
	switch {
	case c.spec.Idle:
		return c.latency(res)
	case c.open != nil:
		c.open.CloseSteps()
		open := c.open.Open
		res.Open = &open
	default:
		c.tail = newTail(c.loop)
	}
	if c.play != nil && c.open == nil { // an open loop's have their last answers in settle
		var err error
		res.Flows, err = c.flows()
		return err
	}
	return nil
}

// latency adds the latencies to res. For an open loop, settle does.
func (l *loop) latency(res *spec.Result) (err error) {
	if res.Histogram, err = tally.Encode(l.rec.Hist); err != nil {
		return err
	}
	if res.FirstByte, err = tally.Encode(l.rec.FirstBytes(l.rec.Hist)); err != nil {
		return err
	}
	if l.play != nil {
		res.Targets, err = l.play.result(res.Requests, l.rec.Hist)
	}
	return err
}

// Finish waits for outstanding answers.
func (c *client) Finish(r *run.Runner, res *spec.Result) (err error) {
	switch {
	case c.open != nil:
		err = c.settle(r, res)
	case c.tail != nil:
		if err = c.tail.wait(r.Step, res.Cut); err == nil {
			res.Unanswered, res.Late = c.tail.unanswered, c.tail.late
			err = c.latency(res)
		}
	}
	if err != nil {
		return err
	}
	if err := c.drain(r); err != nil {
		return err
	}
	res.Sent, res.Answered, res.Connects = c.rec.Sent, c.rec.Answered, c.rec.Connects
	if res.Connect, err = tally.Encode(c.rec.Connect); err != nil {
		return err
	}
	res.TLS, err = c.common.Handshakes.Result()
	return err
}

// drain waits for outstanding answers, not counted in the window, so that the
// server does not end with broken connections.
func (l *loop) drain(r *run.Runner) error {
	l.draining = true
	if l.spec.Idle {
		_, err := l.await(func() error { return r.Until(l.Now() + int64(holdFor)) })
		return err
	}
	for end, more := l.Now()+int64(drainFor), true; more && l.outstanding() > 0 && l.Now() < end; {
		var err error
		if more, err = l.await(r.Step); err != nil {
			return err
		}
	}
	return nil
}

// await takes a step after the window. If the server has ended, or the run is cancelled, it
// reports that there is no more to wait for: the measured values remain.
func (l *loop) await(step func() error) (more bool, err error) {
	err = step()
	if _, hopeless := err.(run.Hopeless); hopeless || err == run.ErrCancelled {
		l.done, l.resigned = nil, true
		return false, nil
	}
	return err == nil, err
}
