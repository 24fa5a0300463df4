package run

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"time"

	"github.com/redline-go/redline/lab/internal/cputime"
	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/stats"
)

const (
	subTicks   = 2 * stats.TrendPoints // per Spec.Warmup; the trend test uses the second half
	maxWarmups = 3                     // maximum length of the warm-up, in units of Spec.Warmup
)

// ErrCancelled is returned by Client.Until when its context has ended.
var ErrCancelled = errors.New("cancelled")

// ErrComplete is what Client.Until returns in the window when Spec.Requests have been
// answered, or failed.
var ErrComplete = errors.New("complete")

// Hopeless wraps the reason why a run is given up that would have no useful result.
type Hopeless struct{ Err error }

// Error returns the text of the reason.
func (e Hopeless) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e Hopeless) Unwrap() error { return e.Err }

// Client generates a load. A run calls it on one thread. All times are nanoseconds of
// its Now.
type Client interface {
	Now() int64          // monotonic
	Until(t int64) error // generates load until time t; ErrCancelled, ErrComplete and Hopeless may end the window early
	Spun() int64         // nanoseconds spent in polls that found nothing
	Requests() uint64    // valid answers, or events, since the client was created

	Recorder() *tally.Recorder // of the latencies

	// Connect waits until all connections are established, and then emits
	// Event.Connected. It runs the client with Runner.Until.
	Connect(r *Runner) error
	Start() // begins the warm-up

	Mark()                        // begins a tick
	Tick(t *spec.Tick, now int64) // stores the counts between the last two marks in t

	Begin(begin, end int64)                   // begins the window, at the last mark
	Cut(now int64)                            // ends the window early; Until can still be called
	Result(res *spec.Result, now int64) error // stores the counts of the window, up to the last mark, in res

	// Finish is called after the window. It waits for outstanding answers and completes
	// the result.
	Finish(r *Runner, res *spec.Result) error
	Close() error
}

// Runner takes a client through the phases of a run.
type Runner struct {
	Spec *spec.Spec
	Emit func(spec.Event)

	client Client
	rec    *tally.Recorder
	server *cputime.Processes

	zero     int64 // origin of Tick.T
	end      int64 // of the current phase
	nextTick int64
	tickAt   int64         // time of the last tick
	cpu      cputime.Time  // at the last tick
	waited   time.Duration // of this thread for a CPU, at the last tick

	length   int64 // of the window, at most
	warmup   int64 // measured length
	steady   bool
	began    bool      // the window has begun
	rates    []float64 // of the window's ticks
	complete bool      // the window is over, as there were enough requests
}

// Do generates the load that order specifies, with the client that open returns, and
// reports through emit. It runs on the calling goroutine and locks its thread. It closes
// the client. On failure it emits an Event with Error and returns the same error. emit
// owns the Event.
//
// ErrCancelled is also an error, unless at least one tick of the window was complete: then
// the window ends there, and its Result has Cut set.
//
// Ticks of the warm-up are emitted before its end is known. Their T is relative to the
// planned end, and to the new one after an extension, so that values of T can repeat. For
// a single axis, add up Seconds backwards from the event that begins the window.
func Do(order *spec.Spec, emit func(spec.Event), open func() (Client, error)) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := do(order, emit, open)
	if err != nil {
		emit(spec.Event{Error: err.Error()})
	}
	return err
}

func do(order *spec.Spec, emit func(spec.Event), open func() (Client, error)) (err error) {
	if err := order.Validate(); err != nil {
		return err
	}
	server, err := cputime.Open(order.ServerPIDs)
	if err != nil {
		return err
	}
	defer server.Close()
	c, err := open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	r := &Runner{Spec: order, Emit: emit, client: c, rec: c.Recorder(), server: server}
	if order.Member {
		r.rec.Delta = tally.NewDelta()
	}
	r.length = windowOf(order)
	if err := c.Connect(r); err != nil {
		return err
	}
	if err := r.warm(); err != nil {
		return err
	}
	res, err := r.window()
	if err != nil {
		return err
	}
	if err := c.Finish(r, res); err != nil {
		return err
	}
	emit(spec.Event{Result: res})
	return nil
}

// windowOf is how long the window may last, in nanoseconds: with a number of arrivals until
// the next one would be due.
func windowOf(order *spec.Spec) int64 {
	if order.Arrivals == nil || order.Requests == 0 {
		return int64(order.Window)
	}
	return int64(order.Arrivals.Span(order.Requests, order.Window))
}

// Until runs the client until time t. If the client gives up because the server process has
// ended, the error reports that first.
func (r *Runner) Until(t int64) error {
	err := r.client.Until(t)
	if _, is := err.(Hopeless); !is {
		return err
	}
	if _, read := r.server.Read(); read != nil {
		return errors.Join(err, read)
	}
	if left := r.server.Left(); left != nil {
		return Hopeless{fmt.Errorf("%w: %w", left, err)}
	}
	return err
}

// Step runs the client for a millisecond.
func (r *Runner) Step() error { return r.Until(r.client.Now() + int64(time.Millisecond)) }

// enter begins or extends a phase.
func (r *Runner) enter(zero, end int64) {
	r.zero, r.end = zero, end
	r.schedule()
}

// schedule sets the time of the next tick. A tick that would end less than a quarter of a
// tick before the phase's end is extended to that end.
func (r *Runner) schedule() {
	tick := int64(r.Spec.Tick)
	r.nextTick = r.tickAt + tick
	if r.end-r.nextTick < tick/4 {
		r.nextTick = r.end
	}
}

// mark begins a tick.
func (r *Runner) mark() (err error) {
	r.tickAt = r.client.Now()
	r.client.Mark()
	r.cpu, err = r.server.Read()
	return err
}

// advance runs until time t, which is within the phase, and emits the ticks due until then.
func (r *Runner) advance(t int64) error {
	for r.nextTick <= t {
		if err := r.Until(r.nextTick); err != nil {
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
	return r.Until(t)
}

// tick ends the current tick and emits it.
func (r *Runner) tick() error {
	from, cpu := r.tickAt, r.cpu
	if err := r.mark(); err != nil {
		return err
	}
	seconds := float64(r.tickAt-from) / 1e9
	t := &spec.Tick{
		T: float64(r.tickAt-r.zero) / 1e9, Seconds: seconds, ServerCPU: float64(r.cpu.Total-cpu.Total) / 1e9 / seconds,
		Used: cputime.Used(r.client.Spun()),
	}
	if r.tickAt >= r.end && r.zero == r.end {
		t.T = 0 // the last tick of the warm-up: T must not be above 0, even if it is late
	}
	t.P95 = r.rec.P95()
	t.P50, t.P99, t.Heat = r.rec.Take()
	if d := r.rec.Delta; d != nil && r.began {
		t.Counts = d.Take()
	}
	r.client.Tick(t, r.tickAt)
	waited, err := waitedSoFar()
	if err != nil {
		return err
	}
	t.Held = min(1, max(t.Held, (waited-r.waited).Seconds()/seconds))
	r.waited = waited
	if r.began {
		r.rates = append(r.rates, float64(t.Requests)/seconds)
	}
	r.Emit(spec.Event{Tick: t})
	return nil
}

// warm runs the warm-up. It extends it while the rate has a trend, except for subscribers
// and for one of several generators.
func (r *Runner) warm() (err error) {
	c, warmup := r.client, int64(r.Spec.Warmup)
	if err := r.mark(); err != nil {
		return err
	}
	begin := r.tickAt
	end := begin + warmup
	c.Start()
	if r.waited, err = waitedSoFar(); err != nil || warmup == 0 {
		return err
	}
	r.enter(end, end)
	step, last := max(warmup/subTicks, 1), begin+maxWarmups*warmup
	if r.Spec.Listen != nil {
		step = min(int64(r.Spec.Tick), warmup)
	}
	if r.Spec.Member || r.Spec.Listen != nil {
		last = end
	}
	rates := make([]float64, 0, subTicks*maxWarmups)
	at, requests := c.Now(), c.Requests()
	for {
		for n := (end - at + step/2) / step; n > 0; n-- {
			if err := r.advance(end - (n-1)*step); err != nil {
				return err
			}
			now := c.Now()
			if now > at {
				rates = append(rates, float64(c.Requests()-requests)/float64(now-at))
			}
			at, requests = now, c.Requests()
		}
		r.steady = !stats.Trend(rates[max(0, len(rates)-stats.TrendPoints):])
		if r.steady || end >= last {
			r.warmup = c.Now() - begin
			return nil
		}
		end = min(end+warmup/2, last)
		r.enter(end, end)
	}
}

// window runs the window and returns its result.
func (r *Runner) window() (*spec.Result, error) {
	c := r.client
	r.Emit(spec.Event{Window: true})
	if err := r.mark(); err != nil {
		return nil, err
	}
	r.began = true
	begin, cpu, spun := r.tickAt, r.cpu, c.Spun()
	end := begin + r.length
	r.rec.Begin()
	c.Begin(begin, end)
	own, err := cputime.Own()
	if err != nil {
		return nil, err
	}
	waited, err := waitedSoFar()
	if err != nil {
		return nil, err
	}
	r.enter(begin, end)
	res := &spec.Result{Errors: map[string]uint64{}}
	for r.tickAt < end && !res.Cut && !r.complete {
		if err := r.measure(begin, res); err != nil {
			return nil, err
		}
	}
	// The last tick has read the clocks at the end of the window.
	ownEnd, err := cputime.Own()
	if err != nil {
		return nil, err
	}
	waitedEnd, err := waitedSoFar()
	if err != nil {
		return nil, err
	}
	res.Seconds, res.Waited = float64(r.tickAt-begin)/1e9, (waitedEnd - waited).Seconds()
	res.GeneratorCPU = max(0, float64(ownEnd-own-(c.Spun()-spun))/1e9)
	res.WarmupSeconds, res.Steady = float64(r.warmup)/1e9, r.steady
	res.ServerUser, res.ServerSys, res.ServerCPU = cputime.Split(cpu, r.cpu)
	if o := r.Spec; o.Arrivals == nil && o.Ramp == nil && o.Listen == nil && !o.Idle {
		res.Drift = drift(r.rates)
	}
	res.Gone = r.server.Gone()
	return res, c.Result(res, r.tickAt)
}

// measure runs to the end of the window, or until the client is complete. ErrCancelled and
// Hopeless end the window with the current tick if at least one tick was complete; otherwise
// they are returned.
func (r *Runner) measure(begin int64, res *spec.Result) error {
	err := r.advance(r.end)
	if err == ErrComplete {
		r.complete = true
		return r.tick()
	}
	lost, resigned := err.(Hopeless)
	if err != ErrCancelled && !resigned || r.client.Now()-begin < int64(r.Spec.Tick) {
		return err
	}
	res.Cut = true
	if resigned {
		res.GaveUp = lost.Error()
	}
	r.client.Cut(r.client.Now())
	return r.tick()
}

// waitedSoFar returns for how long this thread has waited for a CPU; 0 if the kernel does
// not count it.
func waitedSoFar() (time.Duration, error) {
	d, err := procfs.Host.Waited()
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return d, err
}
