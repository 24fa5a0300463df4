package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redline-go/redline/lab/internal/cputime"
	"github.com/redline-go/redline/lab/load"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/verdict"
)

const (
	sampleEvery   = 200 * time.Millisecond
	answerTimeout = 10 * time.Second
)

// A step is one run of the plan.
type step struct {
	block, order int // count from 1
	workload     *workload
	subject      *Subject
}

// generate runs a generator process and returns its result. It passes each event except
// a failure's message to see, whose error ends the process.
func (b *bench) generate(ctx context.Context, order *spec.Spec, see func(spec.Event) error) (*spec.Result, error) {
	g, err := load.Start(ctx, b.launcher, b.cfg.Executable, b.cfg.GeneratorCPUs, order)
	if err != nil {
		return nil, err
	}
	r, err := g.Follow(see)
	switch {
	case err != nil:
		return nil, err
	case r.GaveUp != "":
		return nil, errors.New(r.GaveUp)
	case len(r.Gone) > 0:
		return nil, fmt.Errorf("server process %d has ended", r.Gone[0])
	}
	return r, nil
}

// measure executes one step of the plan: a fresh server, a fresh generator, one window.
// A run that could not be measured is returned with Failed set. An error ends the
// comparison.
func (b *bench) measure(ctx context.Context, s step) (results.Run, error) {
	run := results.Run{
		ID:       fmt.Sprintf("%s/b%d/%s", s.workload.name, s.block, s.subject.label()),
		Workload: s.workload.name, Subject: s.subject.label(),
		Block: s.block, Order: s.order, Started: time.Now(),
	}
	srv, err := b.startServer(ctx, s.subject, s.workload.secure != nil)
	if err == nil {
		err = b.window(ctx, &run, s, srv)
		if err != nil && srv.ended() {
			err = fmt.Errorf("process ended: %w (%w)", srv.exitError(), err)
		}
		if err != nil {
			err = srv.fail(err)
		}
		err = errors.Join(err, srv.stop())
	}
	if ctx.Err() != nil {
		return run, ctx.Err()
	}
	if err != nil {
		run.Failed = err.Error()
		var se *SubjectError
		if errors.As(err, &se) {
			run.Failed, run.Stderr = se.Err.Error(), se.Stderr
		}
	}
	return run, nil
}

// window drives srv and sets run's figures.
func (b *bench) window(ctx context.Context, run *results.Run, s step, srv *server) (err error) {
	order, err := b.orders(s, srv)
	if err != nil {
		return err
	}
	switch {
	case s.workload.idle || s.workload.push != nil:
		err = b.baseMemory(ctx, run, s.workload, srv)
	case s.workload.open():
		err = b.arrivals(ctx, run, s, order)
	}
	if err != nil {
		return err
	}
	w := watch{bench: b, run: run, server: srv, service: b.service(s.workload.backend), window: probe.NewWindow(srv.pids)}
	defer w.window.Close()
	if s.subject.with != nil {
		w.collector = probe.OpenCollector(srv.pids)
		defer func() { err = errors.Join(err, w.collector.Close()) }()
	}
	result, err := b.generate(ctx, order, w.event)
	if err != nil {
		return err
	}
	if err := w.fill(result); err != nil {
		return err
	}
	return b.judge(run, s.workload, result)
}

func (b *bench) orders(s step, srv *server) (*spec.Spec, error) {
	w := s.workload
	o := &spec.Spec{
		Addr:        srv.addr,
		Request:     w.request(srv.addr, srv.prefix),
		More:        w.more(srv.addr, srv.prefix),
		Expect:      spec.Expect{Status: 200, Body: b.answers[answerKey{s.subject.Name, w.name}]},
		Connections: b.connections(w), Pipeline: w.pipeline,
		Idle: w.idle, Warmup: b.cfg.Warmup, Window: b.cfg.Window, Tick: sampleEvery, Timeout: answerTimeout,
		Congestion: b.cfg.Congestion, ServerPIDs: srv.pids,
	}
	if w.stream {
		o.Listen = b.listen(w, s.subject, srv)
	}
	if err := b.secureOrder(o, w); err != nil {
		return nil, err
	}
	return o, b.mix(o, s, srv)
}

// connections returns the number of connections from the command line, or else the
// workload's own.
func (b *bench) connections(w *workload) int {
	if w.most > 0 {
		return w.most
	}
	if w.connections > 0 && !b.cfg.ConnectionsSet {
		return w.connections
	}
	return b.cfg.Connections
}

// A watch follows one generator and takes readings of the server.
type watch struct {
	*bench
	run     *results.Run
	server  *server
	service *service // the backend of the workload; nil: none

	window     *probe.Window
	collector  *probe.Collector // of a subject with a toolchain; nil: none
	begin, end edge
}

// An edge holds the readings at the beginning or the end of the window, other than those of
// probe.Window.
type edge struct {
	snapshot probe.Snapshot
	backend  cputime.Time
}

// event takes the readings for an event of the generator.
func (w *watch) event(e spec.Event) (err error) {
	switch {
	case e.PID > 0:
		pids := []int{e.PID}
		if w.service != nil {
			pids = append(pids, w.service.processes()...)
		}
		err = w.window.Open(w.cfg.cpus(), pids...)
	case e.Window:
		w.collector.Begin()
		w.begin, err = w.edge(w.window.Begin)
	case e.Tick != nil:
		w.sample(e.Tick)
	case e.Result != nil:
		w.end, err = w.edge(w.window.End)
		w.collector.End()
	}
	return err
}

// edge takes the readings at an edge of the window, which read is for. The server's processes
// have to be alive.
func (w *watch) edge(read func() error) (e edge, err error) {
	if w.server.control != nil {
		if e.snapshot, err = w.server.control.Snapshot(); err != nil {
			return e, fmt.Errorf("read control socket: %w", err)
		}
	}
	if w.service != nil {
		pids := w.service.processes()
		if err := errors.Join(w.window.Add(pids...), w.service.cpu.Add(pids)); err != nil {
			return e, fmt.Errorf("backend %s: %w", w.service.name, err)
		}
	}
	if err := cmp.Or(read(), w.window.Gone()); err != nil {
		return e, err
	}
	if w.service != nil {
		if e.backend, err = w.service.cpu.Read(); err != nil {
			return e, fmt.Errorf("backend %s: %w\n%s", w.service.name, err, w.service.stderr)
		}
	}
	return e, nil
}

// sample adds a point to the time series. It leaves out what it cannot read: the
// process may have ended, which the generator reports.
func (w *watch) sample(t *spec.Tick) {
	s := results.Sample{
		T: t.T, P50Us: t.P50, P99Us: t.P99, Errors: t.Errors, ServerCPU: t.ServerCPU, Heat: t.Heat,
	}
	if t.Seconds > 0 {
		s.Rate = float64(t.Requests) / t.Seconds
	}
	if w.window.Tick(&w.run.Memory) == nil {
		s.RSSBytes = w.run.Memory.RSSFinalBytes
	}
	if w.server.control != nil {
		if snap, err := w.server.control.Glance(); err == nil {
			s.Goroutines = snap.Goroutines
		}
	}
	w.run.Series = append(w.run.Series, s)
}

// fill sets the run's figures from those of the generator and the probes.
func (w *watch) fill(r *spec.Result) (err error) {
	run := w.run
	if run.Latency, err = results.ParseLatency(r.Histogram); err != nil {
		return err
	}
	run.WindowSeconds, run.Requests, run.Errors, run.Unanswered = r.Seconds, r.Requests, r.Errors, r.Unanswered
	run.Rate = float64(r.Requests) / r.Seconds
	run.BytesIn, run.BytesOut = r.BytesIn, r.BytesOut
	run.CPU = tally.ServerCPU(r, len(w.cfg.ServerCPUs))
	run.Process = w.window.Process()
	if w.server.control != nil {
		rt := w.end.snapshot.Since(w.begin.snapshot, run.Requests)
		run.Runtime = &rt
	}
	run.Collector = w.collector.Result()
	foreign := w.window.Foreign(w.waited(r), r.Seconds)
	r.Steal, r.Foreign = w.window.Steal(), &foreign
	run.Generator = tally.Generator(r, len(w.cfg.GeneratorCPUs))
	run.Generator.PressureRatio = w.window.Pressure()
	busy := run.Generator.CPUUtilisation
	if w.service != nil {
		spent := float64(w.end.backend.Total-w.begin.backend.Total) / 1e9
		run.Backend = &results.Backend{Name: w.service.name, CPUSeconds: spent, Utilisation: spent / r.Seconds / float64(len(w.cfg.GeneratorCPUs))}
		busy += run.Backend.Utilisation
	}
	run.Generator.Bound = verdict.Bound(busy, run.CPU.Utilisation)
	if r.Held > 0 {
		run.Held = r.Held
		each := (float64(run.Memory.RSSFinalBytes) - float64(run.Memory.RSSBaseBytes)) / float64(r.Held)
		run.Memory.PerConnectionBytes = &each
	}
	w.fillPush(r)
	if err := w.fillTargets(r); err != nil {
		return err
	}
	return w.fillOpen(r.Open)
}

// waited returns for how many seconds processes outside of the run kept the generator from its
// CPU. A backend or a server on the same CPU does that too: then it is unknown, and 0.
func (w *watch) waited(r *spec.Result) float64 {
	if _, shared := w.cfg.SharedCPU(); shared || w.service != nil {
		return 0
	}
	return r.Waited
}
