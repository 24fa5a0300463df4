package command

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/internal/cputime"
	"github.com/redline-go/redline/lab/load/fleet"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/spawn"
)

const (
	ownFiles    = 64 // descriptors that a process needs beside its connections, or its workers
	workerFiles = 4  // that one of them takes where it is led
	mostWorkers = 64 // that are started without being asked for
)

// fleetFlags are those of several workers.
type fleetFlags struct {
	workers          int
	bus, credentials string
	wait             time.Duration
	kubeFlags
}

func (l *Flags) bindFleet(f *pflag.FlagSet) {
	f.IntVar(&l.workers, "workers", 1, "generator processes, more where one may not open as many files as there are connections; connections and rates are those of all together")
	f.StringVar(&l.bus, "bus", "", "lead workers on other machines over NATS: `URL` of the server, or listen:HOST:PORT for one of its own")
	f.StringVar(&l.credentials, "bus-credentials", "", "`FILE` with the NATS user's JWT and seed")
	f.DurationVar(&l.wait, "wait", 2*time.Minute, "how long workers may take to join over the --bus")
	l.bindKubernetes(f)
}

// cores is how many CPUs the workers get when nothing else is said: one each, as
// long as one is left for the server.
func (l *Flags) cores(allowed int) int { return max(1, min(l.workers, allowed-1)) }

// checkFleet refuses numbers of workers that cannot be meant.
func (p *plan) checkFleet() error {
	switch {
	case p.workers < 1:
		return fmt.Errorf("--workers %d: want at least 1", p.workers)
	case p.connections < p.workers:
		return fmt.Errorf("--workers %d: there are %d connections; want at least one for each, as --connections %d", p.workers, p.connections, p.workers)
	}
	if p.try && (p.workers > 1 || p.bus != "" || p.kubernetes) {
		return errors.New("--try asks once, from here: leave out --workers, --bus and --kubernetes, or --try")
	}
	if p.bus != "" || p.kubernetes {
		return nil // what a worker may open is known where it is
	}
	limit, err := fileLimit()
	if err != nil {
		return err
	}
	each := (p.connections + p.workers - 1) / p.workers
	if room := max(1, limit-ownFiles); each > room {
		return fmt.Errorf("--connections %d: a process may open %d files here, which is %d too few for each of %d; write --workers %d",
			p.connections, limit, each-room, p.workers, workersFor(p.connections, limit))
	}
	return nil
}

// crowd takes as many workers as the connections take, when nobody said how many. So
// many that nobody can have meant it are left to checkFleet.
func (p *plan) crowd(given bool) error {
	if given || p.try || p.bus != "" || p.kubernetes {
		return nil
	}
	limit, err := fileLimit()
	if err != nil {
		return err
	}
	n := workersFor(p.connections, limit)
	if n == 1 || n > min(mostWorkers, (limit-ownFiles)/workerFiles) {
		return nil
	}
	p.workers = n
	p.notes = append(p.notes, fmt.Sprintf("%d connections take %d workers, as a process may open %d files here (ulimit -Hn): the run is that of --workers %d",
		p.connections, n, limit, n))
	return nil
}

// workersFor is how many processes it takes to hold so many connections.
func workersFor(connections, limit int) int {
	room := max(1, limit-ownFiles)
	return (connections + room - 1) / room
}

// fileLimit is how many files a process may open: a Go program raises what it may
// to what it can.
func fileLimit() (int, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("read the limit of open files: %w", err)
	}
	return int(min(limit.Max, math.MaxInt32)), nil
}

// crewed is what is known of several workers when their run is over.
type crewed struct {
	outcome *fleet.Outcome // nil: there was one generator
	results []*spec.Result // by worker; nil of a lost one
}

// measure makes the load, with one generator or several.
func (r *loader) measure(ctx context.Context, order *spec.Spec, w *watch) (*spec.Result, error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case r.bus != "":
		return r.overBus(ctx, order, w)
	case r.workers == 1:
		return r.generate(ctx, order, w.event)
	}
	orders, err := fleet.Divide(order, r.workers)
	if err != nil {
		return nil, err
	}
	p, release, err := r.processes()
	if err != nil {
		return nil, errors.Join(err, release())
	}
	result, err := r.lead(ctx, p, orders, order, w)
	return result, errors.Join(err, p.Close(), release())
}

// processes starts the workers of this machine, each on one of the CPUs in turn.
// They end with this process: their input does, and the guard sees to it until
// release is called, when they have ended.
func (r *loader) processes() (p *fleet.Processes, release func() error, err error) {
	var releases []func() error
	release = func() (err error) {
		for _, f := range releases {
			err = errors.Join(err, f())
		}
		return err
	}
	p, err = fleet.StartProcesses(r.workers, func(int) *exec.Cmd {
		cmd := exec.Command(r.exe, WorkerVerb, "--"+pipeFlag)
		cmd.Env = spawn.Environ()
		return cmd
	}, func(cmd *exec.Cmd, i int) error {
		if err := r.launcher.Start(cmd, r.cpus[i%len(r.cpus):][:1]); err != nil {
			return err
		}
		release, err := r.guard.KillGroup(cmd.Process.Pid)
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

// lead carries out a run with workers that are there or will come.
func (r *loader) lead(ctx context.Context, carrier fleet.Carrier, orders []fleet.Order, order *spec.Spec, w *watch) (*spec.Result, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	see := func(e spec.Event) {
		if err := w.event(e); err != nil {
			stop(err)
		}
	}
	plan := fleet.Plan{
		Orders: orders, Window: order.Window, Tick: order.Tick, Join: r.wait,
		Ready: order.Timeout + time.Minute, Run: order.Warmup + order.Window + order.Timeout + time.Minute,
		Lost: func(text string) {
			w.show(func(l *present.Live) { l.Say(text) })
		},
		Live: func(p fleet.Point) {
			if p.Seconds < order.Tick.Seconds()/4 { // the sliver that clocks left
				return
			}
			tick := tickOfPoint(p, order.Warmup)
			w.clocked(tick, p.T, order.Tick.Seconds())
			see(spec.Event{Tick: tick})
		},
		Begin: func(at time.Time) { w.began = at },
		Watch: func(m fleet.Moment) {
			switch m {
			case fleet.Connected:
				see(spec.Event{Connected: true})
			case fleet.Opened:
				see(spec.Event{Window: true})
			case fleet.Closed:
				see(spec.Event{Result: &spec.Result{}}) // the figures follow
			}
		},
	}
	o, err := fleet.Coordinate(ctx, carrier, plan)
	if err != nil {
		return nil, err
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return nil, cause // the server could not be read
	}
	w.crew.outcome = o
	sum, each, err := fleet.Merge(o)
	w.crew.results = each
	for _, result := range append(slices.Clone(each), sum) {
		w.clockedWindow(result, order.Warmup)
	}
	return sum, err
}

// tickOfPoint is a point of the common series as one generator would report it.
func tickOfPoint(p fleet.Point, warmup time.Duration) *spec.Tick {
	return &spec.Tick{
		T: p.T - warmup.Seconds(), Seconds: p.Seconds, Requests: p.Requests, Errors: p.Errors, P50: p.P50, P99: p.P99,
		ServerCPU: p.ServerCPU, Heat: p.Heat, SendLag: p.SendLag, Waiting: p.Waiting,
	}
}

// conclude adds the workers to a document that has the sum of their results.
func (c *crewed) conclude(d *present.Document, target float64) error {
	if c.outcome == nil {
		return nil
	}
	var list []present.Worker
	for i, p := range c.outcome.Workers {
		w := present.Worker{
			Index: p.Share.Index, Host: p.Host, PID: p.PID, Connections: p.Share.Connections,
			Seconds: p.Seconds, Requests: p.Requests, RequestsPerSecond: p.Rate, Lost: p.Lost,
			Clock: results.Clock{OffsetMs: float64(p.Clock.Nanoseconds) / 1e6, UncertaintyMs: float64(p.Clock.Uncertainty) / 1e6, LateMs: float64(p.Late) / 1e6},
		}
		if r := c.results[i]; r != nil {
			if err := d.FillWorker(&w, r, target*p.Share.Fraction); err != nil {
				return fmt.Errorf("worker %d: %w", i, err)
			}
		}
		list = append(list, w)
	}
	d.AddWorkers(list, c.outcome.Failures, c.outcome.Notes)
	return nil
}

// checkBus refuses what workers on other machines cannot do, and what flags about
// them say without any.
func (p *plan) checkBus(changed func(string) bool) error {
	if p.bus == "" {
		if changed("wait") && !p.kubernetes {
			return errors.New("--wait is for workers that come over a --bus; those of this machine are started")
		}
		if changed("bus-credentials") && !p.kubernetes {
			return errors.New("--bus-credentials is for a NATS server: name it with --bus, or leave it out")
		}
		return nil
	}
	switch {
	case changed("cpu"):
		return errors.New("--cpu is for generators of this machine; pin a worker where it starts, as taskset -c 1 redline worker")
	case p.Flags.find != "":
		return errors.New("--find starts many runs, and a worker on a --bus is there for one: leave out one of the two")
	case p.wait <= 0:
		return fmt.Errorf("--wait %v: want more than 0, as 2m", p.wait)
	}
	p.cpus = []int{}
	return checkBusAddress(p.bus)
}

// overBus makes the load with workers that join over NATS.
func (r *loader) overBus(ctx context.Context, order *spec.Spec, w *watch) (result *spec.Result, err error) {
	remote := *order
	remote.ServerPIDs = nil // they are none where the workers are: the clocks are read here
	if len(order.ServerPIDs) > 0 {
		clocks, err := cputime.Follow(order.ServerPIDs, max(order.Tick/2, time.Millisecond))
		if err != nil {
			return nil, err
		}
		defer clocks.Stop()
		w.clocks = clocks
	}
	if order.Scenario != nil {
		scenario := *order.Scenario
		if err := scenario.Carry(); err != nil {
			return nil, err
		}
		remote.Scenario = &scenario
	}
	orders, err := fleet.Divide(&remote, r.workers)
	if err != nil {
		return nil, err
	}
	coordinator, end, err := openBus(ctx, r.bus, r.wait, busIdentity(r.credentials), r.invite)
	if err != nil {
		return nil, err
	}
	if err := fits(orders, coordinator.Room()); err != nil {
		return nil, errors.Join(err, end())
	}
	if r.kubernetes {
		remove, err := r.applyWorkers(ctx, coordinator.Address())
		if err != nil {
			return nil, errors.Join(err, end())
		}
		end = both(remove, end)
	}
	result, err = r.lead(ctx, coordinator, orders, &remote, w)
	return result, errors.Join(err, end())
}

// fits refuses files that do not go over the bus, before workers come for them.
func fits(orders []fleet.Order, room int64) error {
	for _, o := range orders {
		if n := int64(len(o.Spec)); n > room {
			return cli.Usage("with the files that go to them the orders of a worker have %s, and the NATS server takes %s: send smaller files, or --upload SIZE, which is made up where it is sent; or write --bus nats://HOST:4222 with a server of a larger max_payload",
				report.Bytes(float64(n), " "), report.Bytes(float64(room), " "))
		}
	}
	return nil
}

// invite shows how a worker joins, unless it is started, or is told by a script.
func (r *loader) invite(how string, told bool) {
	text := fmt.Sprintf("%d workers are waited for; start each as\n  %s", r.workers, how)
	switch {
	case r.kubernetes || told && r.quiet:
	case r.live != nil:
		r.live.Say(text)
	default:
		fmt.Fprintln(os.Stderr, text)
	}
}

// both calls one function after the other.
func both(first, then func() error) func() error {
	return func() error { return errors.Join(first(), then()) }
}
