package request

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/redline-go/redline/lab/internal/cputime"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/stats"
)

const (
	subTicks   = 2 * stats.TrendPoints  // of Spec.Warmup; the trend test looks at the second half
	maxWarmups = 3                      // times Spec.Warmup
	drainFor   = 100 * time.Millisecond // for answers outstanding when the window ends
	cutFor     = time.Second            // for the answers to an open loop that was cut short
	holdFor    = 200 * time.Millisecond // idle connections, for those who look at the server when the last tick says so
)

// Run generates the load that spec asks for and reports through emit, on the
// calling goroutine and its thread, which it locks. When it cannot go on it emits
// an Event with Error and returns the same error. An Event belongs to emit.
//
// The end of ctx is an error, too, unless a tick of the window was over: then the
// window ends there, and its Result says that it was cut.
//
// Ticks of the warm-up are emitted as they happen, when its end is not certain
// yet: their T counts from the end as planned, and from the new one once it was
// put off, so that T can repeat. Who needs one axis adds up Seconds backwards
// from the event that opens the window.
func Run(ctx context.Context, order *spec.Spec, emit func(spec.Event)) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := run(ctx, order, emit)
	if err != nil {
		emit(spec.Event{Error: err.Error()})
	}
	return err
}

func run(ctx context.Context, order *spec.Spec, emit func(spec.Event)) (err error) {
	if err := order.Validate(); err != nil {
		return err
	}
	if order.Listen != nil {
		return errors.New("spec: subscribers are for package subscribe")
	}
	server, err := cputime.Open(order.ServerPIDs)
	if err != nil {
		return err
	}
	defer server.Close()
	l, err := newLoop(ctx, order)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	if order.Member {
		l.rec.Delta = tally.NewDelta()
	}
	r := &runner{spec: order, loop: l, server: server, emit: emit}
	if err := r.connect(); err != nil {
		return err
	}
	if err := r.warm(); err != nil {
		return err
	}
	res, err := r.window()
	if err != nil {
		return err
	}
	if l.open != nil {
		if err := r.settle(res); err != nil {
			return err
		}
	}
	if err := r.drain(drainFor); err != nil {
		return err
	}
	res.Sent, res.Answered, res.Connects = l.rec.Sent, l.rec.Answered, l.rec.Connects
	if res.Connect, err = tally.Encode(l.rec.Connect); err != nil {
		return err
	}
	if res.TLS, err = l.handshakes.Result(); err != nil {
		return err
	}
	emit(spec.Event{Result: res})
	return nil
}

// runner takes a loop through the phases of a run.
type runner struct {
	spec   *spec.Spec
	loop   *loop
	server *cputime.Processes
	emit   func(spec.Event)

	zero     int64 // what Tick.T counts from
	end      int64 // of the present phase
	nextTick int64
	tickAt   int64          // time of the last tick
	at       tally.Counters // at the last tick
	cpu      cputime.Time   // at the last tick

	warmup    int64 // as it came out
	steady    bool
	measuring bool // the window has begun
}

// connect waits until all connections stand; idle ones have had their answer.
func (r *runner) connect() error {
	l, want := r.loop, r.spec.Connections
	ready := &l.standing
	if r.spec.Idle {
		ready = &l.held
		l.start()
	}
	for *ready < want {
		if err := r.until(l.now() + int64(time.Millisecond)); err != nil {
			return err
		}
		if r.spec.Idle && l.rec.Answered > 2*uint64(want) {
			return fmt.Errorf("connections do not stay open: %d of %d are there after %d answers", l.held, want, l.rec.Answered)
		}
	}
	r.emit(spec.Event{Connected: true})
	return nil
}

// until runs the loop. That the server is gone says more than that it does not
// answer.
func (r *runner) until(t int64) error {
	err := r.loop.until(t)
	if _, is := err.(hopeless); !is {
		return err
	}
	if _, read := r.server.Read(); read != nil {
		return errors.Join(err, read)
	}
	if left := r.server.Left(); left != nil {
		return hopeless{fmt.Errorf("%w: %w", left, err)}
	}
	return err
}

// enter begins a phase, or lengthens it.
func (r *runner) enter(zero, end int64) {
	r.zero, r.end = zero, end
	r.schedule()
}

// schedule sets the time of the next tick, which comes late rather than leave a
// stump of a tick before the phase's end.
func (r *runner) schedule() {
	tick := int64(r.spec.Tick)
	r.nextTick = r.tickAt + tick
	if r.end-r.nextTick < tick/4 {
		r.nextTick = r.end
	}
}

// mark makes now the beginning of a tick.
func (r *runner) mark() (err error) {
	r.tickAt, r.at = r.loop.now(), r.loop.rec.Counters
	r.cpu, err = r.server.Read()
	return err
}

// advance runs to a time within the phase and ticks on the way.
func (r *runner) advance(t int64) error {
	for r.nextTick <= t {
		if err := r.until(r.nextTick); err != nil {
			return err
		}
		if err := r.tick(); err != nil {
			return err
		}
		if r.tickAt >= r.end {
			return nil
		}
		r.schedule()
	}
	return r.until(t)
}

// tick reports what happened since the last one.
func (r *runner) tick() error {
	from, at, cpu := r.tickAt, r.at, r.cpu
	if err := r.mark(); err != nil {
		return err
	}
	seconds := float64(r.tickAt-from) / 1e9
	t := &spec.Tick{
		T:         float64(r.tickAt-r.zero) / 1e9,
		Seconds:   seconds,
		Requests:  r.at.Requests - at.Requests,
		Errors:    r.at.Failures() - at.Failures(),
		ServerCPU: float64(r.cpu.Total-cpu.Total) / 1e9 / seconds,
		Used:      cputime.Used(r.loop.spun()),
	}
	if r.tickAt >= r.end && r.zero == r.end {
		t.T = 0 // the last of a warm-up: the window has not begun, however late it is
	}
	t.P50, t.P99, t.Heat = r.loop.rec.Take()
	if d := r.loop.rec.Delta; d != nil && r.measuring {
		t.Counts = d.Take()
	}
	if open := r.loop.open; open != nil {
		t.SendLag, t.Waiting = open.Take(), open.queue.Waiting(r.tickAt)
	}
	r.emit(spec.Event{Tick: t})
	return nil
}

// warm runs the warm-up, and on while the rate has a trend, unless others would
// have to wait.
func (r *runner) warm() error {
	l, warmup := r.loop, int64(r.spec.Warmup)
	if err := r.mark(); err != nil {
		return err
	}
	begin := r.tickAt
	end := begin + warmup
	if !r.spec.Idle {
		l.start()
	}
	if warmup == 0 {
		return nil
	}
	r.enter(end, end)
	rates := make([]float64, 0, subTicks*maxWarmups)
	step := max(warmup/subTicks, 1)
	at, requests := l.now(), l.rec.Requests
	for {
		for n := (end - at + step/2) / step; n > 0; n-- {
			t := end - (n-1)*step
			if err := r.advance(t); err != nil {
				return err
			}
			now := l.now()
			if now > at {
				rates = append(rates, float64(l.rec.Requests-requests)/float64(now-at))
			}
			at, requests = now, l.rec.Requests
		}
		r.steady = !stats.Trend(rates[max(0, len(rates)-stats.TrendPoints):])
		if r.steady || r.spec.Member || end-begin >= maxWarmups*warmup {
			r.warmup = l.now() - begin
			return nil
		}
		end = min(end+warmup/2, begin+maxWarmups*warmup)
		r.enter(end, end)
	}
}

// window measures.
func (r *runner) window() (*spec.Result, error) {
	l := r.loop
	r.emit(spec.Event{Window: true})
	if err := r.mark(); err != nil {
		return nil, err
	}
	l.rec.Begin()
	r.measuring = true
	if l.play != nil {
		l.play.begin()
	}
	begin, from, cpu, spun := r.tickAt, r.at, r.cpu, l.spun()
	own, err := cputime.Own()
	if err != nil {
		return nil, err
	}
	end := begin + int64(r.spec.Window)
	if l.open != nil {
		l.open.Begin(begin, end)
		l.open.queue.Begin(r.spec.Arrivals, begin, end)
	}
	r.enter(begin, end)
	cut, gaveUp := false, ""
	for r.tickAt < end && !cut {
		err := r.advance(end)
		lost, resigned := err.(hopeless)
		if cut = (err == errCancelled || resigned) && l.now()-begin >= int64(r.spec.Tick); cut {
			if resigned {
				gaveUp = lost.Error()
			}
			err = r.cut()
		}
		if err != nil {
			return nil, err
		}
	}
	// The last tick read the clocks, at the moment that ends the window.
	ownEnd, err := cputime.Own()
	if err != nil {
		return nil, err
	}
	res := &spec.Result{
		Seconds:       float64(r.tickAt-begin) / 1e9,
		Requests:      r.at.Requests - from.Requests,
		Errors:        map[string]uint64{},
		BytesIn:       r.at.BytesIn - from.BytesIn,
		BytesOut:      r.at.BytesOut - from.BytesOut,
		GeneratorCPU:  max(0, float64(ownEnd-own-(l.spun()-spun))/1e9),
		WarmupSeconds: float64(r.warmup) / 1e9,
		Steady:        r.steady,
		Cut:           cut,
		GaveUp:        gaveUp,
		Gone:          r.server.Gone(),
		Early:         r.at.Early - from.Early,
		Dropped:       r.at.Dropped - from.Dropped,
	}
	for k, name := range tally.Names {
		if n := r.at.Errors[k] - from.Errors[k]; n > 0 {
			res.Errors[name] = n
		}
	}
	res.ServerUser, res.ServerSys, res.ServerCPU = cputime.Split(cpu, r.cpu)
	res.Held = l.held
	if l.open == nil && !r.spec.Idle {
		res.Unanswered = l.unanswered(r.tickAt)
	}
	return res, r.latency(res)
}

// latency adds what was recorded of latencies. Those of an open loop follow in
// settle, with the last answers.
func (r *runner) latency(res *spec.Result) (err error) {
	l := r.loop
	if l.open != nil {
		open := l.open.Open
		res.Open = &open
		return nil
	}
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

// cut ends the window now. That it was asked for, or that there is no hope, is not
// asked again: what is left to do is done.
func (r *runner) cut() error {
	l := r.loop
	l.done, l.resigned = nil, true
	if l.open != nil {
		now := l.now()
		l.open.Begin(l.open.From, now)
		l.open.queue.End(now)
	}
	return r.tick()
}

// drain lets outstanding answers arrive, uncounted in the window, so that the
// server does not end with broken connections.
func (r *runner) drain(patience time.Duration) error {
	l := r.loop
	l.draining = true
	if r.spec.Idle {
		return r.until(l.now() + int64(holdFor))
	}
	for end := l.now() + int64(patience); l.outstanding() > 0 && l.now() < end; {
		if err := r.until(l.now() + int64(time.Millisecond)); err != nil {
			return err
		}
	}
	return nil
}
