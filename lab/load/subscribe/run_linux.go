package subscribe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/redline-go/redline/lab/internal/cputime"
	"github.com/redline-go/redline/lab/load/sock"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/load/tlsc"
	"github.com/redline-go/redline/lab/stats"
)

// runner takes subscribers through the phases of a run.
type runner struct {
	spec   *spec.Spec
	loop   *Loop
	server *cputime.Processes
	emit   func(spec.Event)
	delays *tally.Recorder
	gaps   *tally.Recorder
	lags   *tally.Recorder

	tickAt int64
	at     Counts       // at the last tick
	cpu    cputime.Time // at the last tick
	took   float64      // seconds until all stood
	steady bool
}

// Delay, Gap and Lag make it a listen.Recorder.
func (r *runner) Delay(d time.Duration) { r.delays.Latency(int64(d), 1) }

// Gap is part of that.
func (r *runner) Gap(d time.Duration) { r.gaps.Latency(int64(d), 1) }

// Lag is part of that.
func (r *runner) Lag(d time.Duration) { r.lags.Latency(int64(d), 1) }

// Run is request.Run for a specification whose connections are subscribers.
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
	server, err := cputime.Open(order.ServerPIDs)
	if err != nil {
		return err
	}
	defer server.Close()
	sources, err := sock.ParseSources(order.Sources)
	if err != nil {
		return err
	}
	r := &runner{spec: order, server: server, emit: emit, delays: tally.NewRecorder(), gaps: tally.NewRecorder(), lags: tally.NewRecorder()}
	if order.Member {
		r.delays.Delta = tally.NewDelta()
	}
	before, err := resident()
	if err != nil {
		return err
	}
	var secure *tlsc.Client
	if order.TLS != nil {
		if secure, err = tlsc.For(order.TLS, order.HTTP2); err != nil {
			return err
		}
	}
	if r.loop, err = New(ctx, &Options{
		Config: *order.Listen, Addr: order.Addr, Request: order.Request, Subscribers: order.Places(), Timeout: order.Timeout,
		ConnectRate: order.ConnectRate, Sources: sources, Congestion: order.Congestion,
		TLS: secure, HTTP2: order.HTTP2, Share: order.Streams,
	}, r); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.loop.Close()) }()
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
	if res.Listen.Memory, err = resident(); err != nil {
		return err
	}
	res.Listen.Each = max(0, float64(res.Listen.Memory)-float64(before)) / float64(order.Places())
	if res.TLS, err = r.loop.TLS(); err != nil {
		return err
	}
	emit(spec.Event{Result: res})
	return nil
}

// connect waits until all subscribers stand, or no more come. Those who are missing
// then are the result's affair.
func (r *runner) connect() error {
	l := r.loop
	patience := int64(r.spec.Timeout + r.spec.Timeout/2)
	begin := l.Now()
	most, grew, told := 0, begin, begin
	for l.Stood() < l.Expected() || l.Stood() == 0 {
		if err := l.Until(l.Now() + int64(time.Millisecond)); err != nil {
			return err
		}
		now := l.Now()
		if n := l.Stood(); n >= most+max(r.spec.Places()/100, 1) {
			most, grew = n, now // a trickle does not count: it could go on for ever
		}
		if l.Stood() == 0 {
			if err := l.Hope(); err != nil {
				return err
			}
		} else if now-grew > patience {
			break
		}
		if n := l.Stood(); n > 0 && now-told > int64(r.spec.Tick) {
			told = now
			r.emit(spec.Event{Standing: n})
		}
	}
	r.took = float64(l.Now()-begin) / 1e9
	return r.begin()
}

// begin says that all are there. Others may have to be waited for, and until then
// the subscribers listen.
func (r *runner) begin() error {
	told := make(chan struct{})
	go func() {
		defer close(told)
		r.emit(spec.Event{Connected: true})
	}()
	for {
		err := r.loop.Until(r.loop.Now() + int64(time.Millisecond))
		if err != nil {
			<-told
			return err
		}
		select {
		case <-told:
			return r.mark()
		default:
		}
	}
}

// warm runs for as long as was asked for.
func (r *runner) warm() error {
	end := r.tickAt + int64(r.spec.Warmup)
	var rates []float64
	for r.tickAt < end {
		from, events := r.tickAt, r.at.Events
		if err := r.tick(end, end); err != nil {
			return err
		}
		rates = append(rates, float64(r.at.Events-events)/float64(r.tickAt-from))
	}
	r.steady = len(rates) > 0 && !stats.Trend(rates[max(0, len(rates)-stats.TrendPoints):])
	return nil
}

// mark makes now the beginning of a tick.
func (r *runner) mark() (err error) {
	r.tickAt, r.at = r.loop.Now(), *r.loop.Counts()
	r.cpu, err = r.server.Read()
	return err
}

// tick runs to the end of the next tick, which comes late rather than leave a stump
// before the phase's end, and reports it. Times count from zero.
func (r *runner) tick(zero, end int64) error {
	at := r.tickAt + int64(r.spec.Tick)
	if end-at < int64(r.spec.Tick)/4 {
		at = end
	}
	if err := r.loop.Until(at); err != nil {
		return err
	}
	return r.report(zero, end)
}

// report emits what happened since the last tick.
func (r *runner) report(zero, end int64) error {
	from, was, cpu := r.tickAt, r.at, r.cpu
	if err := r.mark(); err != nil {
		return err
	}
	seconds := float64(r.tickAt-from) / 1e9
	d := r.at.Since(&was)
	t := &spec.Tick{
		T: float64(r.tickAt-zero) / 1e9, Seconds: seconds, Requests: d.Events, Errors: d.Failures(),
		ServerCPU: float64(r.cpu.Total-cpu.Total) / 1e9 / seconds, Used: cputime.Used(r.loop.Spun()),
		Listen: &spec.Heard{
			Standing: r.loop.Standing(), BytesIn: d.BytesIn, Missed: d.Missed, Duplicated: d.Duplicated, Reconnects: d.Reconnects,
		},
	}
	if zero == end && r.tickAt >= end {
		t.T = 0 // the last of a warm-up: the window has not begun, however late it is
	}
	t.P50, t.P99, t.Heat = r.delays.Take()
	if d := r.delays.Delta; d != nil && zero != end {
		t.Counts = d.Take()
	}
	t.Listen.GapP50, t.Listen.GapP99, _ = r.gaps.Take()
	_, t.Listen.LagP99, _ = r.lags.Take()
	r.emit(spec.Event{Tick: t})
	return nil
}

// window measures.
func (r *runner) window() (*spec.Result, error) {
	l := r.loop
	r.emit(spec.Event{Window: true})
	if err := r.mark(); err != nil {
		return nil, err
	}
	r.delays.Begin()
	r.gaps.Begin()
	r.lags.Begin()
	l.Begin()
	begin, from, cpu, spun := r.tickAt, r.at, r.cpu, l.Spun()
	own, err := cputime.Own()
	if err != nil {
		return nil, err
	}
	end, cut := begin+int64(r.spec.Window), false
	for r.tickAt < end && !cut {
		err := r.tick(begin, end)
		if cut = errors.Is(err, ErrCancelled) && l.Now()-begin >= int64(r.spec.Tick); cut {
			l.Uncancel()
			err = r.report(begin, end)
		}
		if err != nil {
			return nil, err
		}
	}
	ownEnd, err := cputime.Own()
	if err != nil {
		return nil, err
	}
	d := r.at.Since(&from)
	res := &spec.Result{
		Seconds: float64(r.tickAt-begin) / 1e9, Requests: d.Events, Errors: d.ByKind(), BytesIn: d.BytesIn, BytesOut: d.BytesOut,
		GeneratorCPU:  max(0, float64(ownEnd-own-(l.Spun()-spun))/1e9),
		WarmupSeconds: r.spec.Warmup.Seconds(), Steady: r.steady, Cut: cut, Gone: r.server.Gone(),
		Connects: r.at.Connects, Listen: &spec.Subscribed{Connect: r.took},
	}
	res.ServerUser, res.ServerSys, res.ServerCPU = cputime.Split(cpu, r.cpu)
	Fill(res.Listen, &d)
	l.Finish(res.Listen)
	if res.Histogram, err = tally.Encode(r.delays.Hist); err != nil {
		return nil, err
	}
	if res.Listen.Gap, err = tally.Encode(r.gaps.Hist); err != nil {
		return nil, err
	}
	res.Listen.Lag, err = tally.Encode(r.lags.Hist)
	return res, err
}

// resident is the memory of this process in bytes.
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
