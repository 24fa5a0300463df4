package command

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"time"

	"github.com/redline-go/redline/lab/load"
	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/fleet"
	"github.com/redline-go/redline/lab/load/observe"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/spawn"
)

// endPatience is the time that an interrupted generator has to return its result: it waits a
// second for requests in flight.
const endPatience = 10 * time.Second

// order returns the specification of the load for all generators together.
func (p *plan) order(to *server, arrivals *arrive.Plan) *spec.Spec {
	users := &p.flags.users
	s := &spec.Spec{
		Addr: to.addr, Request: p.request.wire, Expect: spec.Expect{Status: to.status},
		Connections: p.flags.connections, Pipeline: p.flags.pipeline, Warmup: p.flags.warmup, Window: p.duration, Tick: p.tick, Requests: uint64(p.flags.requests),
		Timeout: p.flags.timeout, Arrivals: arrivals, ServerPIDs: to.processes.PIDs, Listen: p.subscribers,
		PerConnection: users.perConnection, ConnectRate: p.users.dials, Sources: users.sources, Slow: p.users.slow,
		MaxBody: p.users.maxBody, Persist: users.keepGoing,
		TLS: p.protocol.TLS, HTTP2: p.protocol.HTTP2,
	}
	if s.Listen != nil && s.Listen.Publish != nil {
		listen, publish := *s.Listen, *s.Listen.Publish
		publish.Addr = to.publish
		listen.Publish, s.Listen = &publish, &listen
	}
	s.Ramp = p.ramp
	if p.protocol.HTTP2 {
		s.Streams = p.flags.protocol.streams
	}
	if p.users.scenario != nil {
		play := *p.users.scenario
		play.Seed = p.seed
		if to.status != 0 {
			play.Check = append(slices.Clone(play.Check), fmt.Sprintf("status %d", to.status))
		}
		s.Scenario, s.Request, s.Expect = &play, nil, spec.Expect{}
	}
	if most := p.most(arrivals != nil); most > s.Connections {
		s.Initial, s.Connections = s.Connections, most
	}
	return s
}

// mostConnections is how many connections, or streams of them, an open loop makes at most if their
// number is not given.
const mostConnections = 1024

// most returns how many connections a run makes at most. Users of an open loop are independent: if the
// flags do not limit their connections, arrivals that wait for one get another. Users of a scenario are
// as many as were asked for: each has its own state, and may have logged in. How many files workers on
// other machines may open is not known here.
func (p *plan) most(open bool) int {
	f := &p.flags
	if !open || p.asked || f.fleet.bus != "" || p.users.scenario != nil || p.subscribers != nil {
		return f.connections
	}
	limit, err := fileLimit()
	if err != nil {
		return f.connections // the check of the flags has reported it
	}
	streams := 1
	if p.protocol.HTTP2 {
		streams = f.protocol.streams
	}
	return max(f.connections, min(mostConnections/streams, limit/2))
}

// longTick is the interval of the time series' points unless the window is short or very long.
const longTick = 200 * time.Millisecond

// shortTick is the interval in windows of the minimum length, or shorter.
const shortTick = 20 * time.Millisecond

// tickOf returns the interval of the time series' points: five points a second, one a second in
// runs of more than five minutes, and at least five points.
func tickOf(window time.Duration) time.Duration {
	if window > 5*time.Minute {
		return time.Second
	}
	return min(longTick, window/5)
}

// measured holds the measurements of the generators.
type measured struct {
	result  *spec.Result   // sum of all generators
	outcome *fleet.Outcome // with several workers; nil: there was one generator
	workers []*spec.Result // by worker; nil for a lost one
}

// generate generates the load, with one generator or several, and observes them.
func (s *session) generate(ctx context.Context, order *spec.Spec, observer *observe.Observer) (measured, error) {
	switch {
	case ctx.Err() != nil:
		return measured{}, ctx.Err()
	case s.plan.flags.fleet.bus != "":
		return s.overBus(ctx, order, observer)
	case s.plan.workers == 1:
		result, err := s.oneGenerator(ctx, order, observer)
		return measured{result: result}, err
	}
	orders, err := fleet.Divide(order, s.plan.workers)
	if err != nil {
		return measured{}, err
	}
	p, release, err := s.processes()
	if err != nil {
		return measured{}, errors.Join(err, release())
	}
	for i := range s.plan.workers {
		if err := observer.Event(spec.Event{PID: p.PID(i)}); err != nil {
			return measured{}, errors.Join(err, p.Close(), release())
		}
	}
	m, err := s.coordinate(ctx, p, orders, order, observer)
	return m, errors.Join(err, p.Close(), release())
}

// oneGenerator runs a generator process and returns its result. If ctx ends, it asks the
// process for the result at once; a second interruption ends its wait for answers.
func (s *session) oneGenerator(ctx context.Context, order *spec.Spec, observer *observe.Observer) (*spec.Result, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	p, err := load.Start(life, s.launcher, s.exe, s.plan.cpus, order)
	if err != nil {
		return nil, err
	}
	release, err := s.guard.KillGroup(p.PID())
	if err != nil {
		end()
		_, why := p.Follow(observer.Event)
		return nil, errors.Join(err, why)
	}
	stop := context.AfterFunc(ctx, func() {
		if p.Interrupt() != nil {
			end()
			return
		}
		patience, again := time.After(endPatience), s.again
		for {
			select {
			case <-life.Done():
				return
			case <-again:
				again = nil
				if p.Interrupt() == nil {
					continue
				}
			case <-patience:
			}
			end()
			return
		}
	})
	defer stop()
	result, err := p.Follow(observer.Event)
	return result, errors.Join(err, release())
}

// processes starts the workers of this machine, each on one of the CPUs in turn. They end with
// this process, because their input ends. Until release is called after their end, the guard
// ends them too.
func (s *session) processes() (p *fleet.Processes, release func() error, err error) {
	var releases []func() error
	release = func() (err error) {
		for _, f := range releases {
			err = errors.Join(err, f())
		}
		return err
	}
	p, err = fleet.StartProcesses(s.plan.workers, func(int) *exec.Cmd {
		cmd := exec.Command(s.exe, WorkerVerb, "--"+pipeFlag)
		cmd.Env = spawn.Environ()
		return cmd
	}, func(cmd *exec.Cmd, i int) error {
		if err := s.launcher.Start(cmd, s.plan.cpus[i%len(s.plan.cpus):][:1]); err != nil {
			return err
		}
		release, err := s.guard.KillGroup(cmd.Process.Pid)
		if err != nil {
			err = errors.Join(err, cmd.Process.Kill())
			_ = cmd.Wait() // killed
			return err
		}
		releases = append(releases, release)
		return nil
	})
	return p, release, err
}

// coordinate executes a run with workers that have joined or will join.
func (s *session) coordinate(ctx context.Context, carrier fleet.Carrier, orders []fleet.Order, order *spec.Spec, observer *observe.Observer) (measured, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var closed spec.Result // observations at the end of the windows
	see := func(e spec.Event) {
		if err := observer.Event(e); err != nil {
			stop(err)
		}
	}
	plan := fleet.Plan{
		Orders: orders, Warmup: order.Warmup, Window: order.Window, Counted: order.Requests > 0, Tick: order.Tick, Join: s.plan.flags.fleet.wait,
		Ready: order.Timeout + time.Minute, Run: order.Warmup + order.Window + order.Timeout + time.Minute,
		Again:   s.again,
		OnLost:  s.live.Say,
		OnStart: observer.LoadBegins,
		OnPoint: func(p fleet.Point) {
			if p.Seconds < order.Tick.Seconds()/4 { // a short rest caused by the clocks
				return
			}
			tick := tickOfPoint(p, order.Warmup)
			observer.AddServerCPU(tick, p.T, p.Seconds)
			see(spec.Event{Tick: tick})
		},
		OnMoment: func(m fleet.Moment) {
			switch m {
			case fleet.Connected:
				see(spec.Event{Connected: true})
			case fleet.Opened:
				see(spec.Event{Window: true})
			case fleet.Closed:
				see(spec.Event{Result: &closed}) // the figures follow later
			}
		},
	}
	o, err := fleet.Coordinate(ctx, carrier, plan)
	if err != nil {
		return measured{}, err
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return measured{}, cause // the server could not be read
	}
	sum, each, err := fleet.Merge(o)
	if sum != nil && closed.Foreign != nil { // the workers are on this machine and compete with each other
		sum.Steal, sum.Foreign = closed.Steal, closed.Foreign
	}
	for _, result := range append(slices.Clone(each), sum) {
		observer.AddServerWindow(result, order.Warmup)
	}
	return measured{result: sum, outcome: o, workers: each}, err
}

// tickOfPoint converts a point of the combined series to a tick of one generator.
func tickOfPoint(p fleet.Point, warmup time.Duration) *spec.Tick {
	return &spec.Tick{
		T: p.T - warmup.Seconds(), Seconds: p.Seconds, Requests: p.Requests, Errors: p.Errors, P50: p.P50, P95: p.P95, P99: p.P99,
		ServerCPU: p.ServerCPU, Heat: p.Heat, SendLag: p.SendLag, Waiting: p.Waiting, InFlight: p.InFlight,
		Held: p.Held, TargetHeat: p.TargetHeat, Kinds: p.Kinds, BytesIn: p.BytesIn, BytesOut: p.BytesOut, Users: int(math.Round(p.Users)),
	}
}
