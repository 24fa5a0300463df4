package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/guard"
	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/export"
	"github.com/redline-go/redline/lab/load/objective"
	"github.com/redline-go/redline/lab/load/observe"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/machine"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/spawn"
)

// errInterrupted ends a run that had not measured anything yet, and errEarly one whose load had
// not begun.
var (
	errInterrupted = errors.New("interrupted before anything was measured")
	errEarly       = errors.New("interrupted before the load began")
)

// session holds the resources of the runs of a plan on this machine. There is one run, or many
// with --find.
type session struct {
	plan     *plan
	server   server
	exe      string
	machine  results.Machine
	screen   screen.Screen // of standard error
	runtime  *observe.Runtime
	moveBack func() error     // moves this process back; nil: it did not move
	doubt    string           // why it did not move, if it should have
	live     *present.Live    // nil if nothing is shown
	export   *export.Exporter // nil if nothing is exported
	guard    *guard.Guard
	launcher *spawn.Launcher
	again    <-chan struct{} // closed when the user interrupts a second time
	onWindow func()          // called when a window begins; nil: nobody waits for it
}

// Run runs the verb for a URL. It returns a [cli.UsageError] for wrong flags, and a
// [cli.ExitCode] if the output already explains the result.
func (l *Flags) Run(c *cobra.Command, rawURL string) (err error) {
	plan, err := l.resolve(rawURL, c.Flags().Changed)
	switch {
	case err != nil:
		return err
	case plan.flags.users.try:
		return plan.tryOnce(c.Context(), c.OutOrStdout(), cli.ScreenOf(c, c.OutOrStdout()))
	case plan.flags.kube.kubernetes && !plan.flags.kube.apply:
		return plan.writeManifests(c, rawURL)
	}
	s := &session{plan: plan, machine: machine.Fingerprint("."), screen: cli.ScreenOf(c, c.ErrOrStderr())}
	defer func() { err = errors.Join(err, s.close()) }()
	again, stop := cli.Again(c.Context())
	defer stop()
	s.again = again
	if err := s.open(c.Context(), c.ErrOrStderr()); c.Context().Err() != nil {
		return interrupted(errEarly) // err is a consequence
	} else if err != nil {
		return err
	}
	doc, err := s.measure(c.Context())
	s.live.End()
	err = errors.Join(err, s.export.End(c.Context(), doc))
	if doc != nil {
		if unsaved := plan.printAndSave(c, doc); unsaved != nil {
			return errors.Join(err, unsaved)
		}
	}
	s.export.Linger(c.Context(), plan.flags.export.linger)
	return plan.exit(c.Context(), doc, err)
}

// interrupted prints how far an interrupted run was, and returns its exit code.
func interrupted(when error) error {
	fmt.Fprintln(os.Stderr, "redline:", when)
	return cli.ExitCode(130)
}

// open finds the server and prepares the runs. The caller calls close, also after an error.
func (s *session) open(ctx context.Context, live io.Writer) (err error) {
	if s.server, err = s.plan.findServer(ctx); err != nil {
		return err
	}
	if s.exe, err = os.Executable(); err != nil {
		return err
	}
	if s.runtime, err = observe.OpenRuntime(ctx, s.plan.runtime); err != nil {
		return err
	}
	if s.export, err = export.Open(ctx, s.plan.export, s.plan.request.url); err != nil {
		return err
	}
	s.moveBack, s.doubt = stepAside(s.plan.cpus, s.server.processes.PIDs)
	if !s.plan.flags.quiet {
		s.live = present.NewLive(live, s.screen)
	}
	if s.guard, err = guard.Start(s.exe); err != nil {
		return err
	}
	s.launcher = spawn.NewLauncher()
	return nil
}

// close releases the resources of open.
func (s *session) close() (err error) {
	if s.launcher != nil {
		s.launcher.Close()
		err = s.guard.Close()
	}
	if s.moveBack != nil {
		err = errors.Join(err, s.moveBack())
	}
	if s.runtime != nil {
		err = errors.Join(err, s.runtime.Close())
	}
	err = errors.Join(err, s.export.Close())
	return err
}

// stepAside moves this process off the generator's CPUs, and off the server's if there are
// others. back undoes it; nil: it did not move, and doubt is the reason if it should have.
func stepAside(generator, server []int) (back func() error, doubt string) {
	allowed, err := probe.Allowed()
	if err == nil {
		free := without(allowed, generator)
		if len(server) > 0 {
			// A server that has ended has no CPUs; the run reports that.
			if theirs, err := probe.AllowedTo(server[0]); err == nil && len(without(free, theirs)) > 0 {
				free = without(free, theirs)
			}
		}
		if len(free) == 0 || len(free) == len(allowed) {
			return nil, ""
		}
		back, err = probe.Move(free)
	}
	if err != nil {
		doubt = fmt.Sprintf("the command itself may have run on the generator's CPU: %v", err)
	}
	return back, doubt
}

func without(cpus, those []int) []int {
	return slices.DeleteFunc(slices.Clone(cpus), func(c int) bool { return slices.Contains(those, c) })
}

// measure executes the plan: one run, or a search.
func (s *session) measure(ctx context.Context) (*present.Document, error) {
	if len(s.plan.find) == 0 {
		return s.once(ctx, s.plan.arrivals, s.plan.arrivalsText, s.plan.thresholds)
	}
	s.live.Steps()
	return s.search(ctx)
}

// once executes one run. For an aborted run it returns both a document and an error.
func (s *session) once(ctx context.Context, arrivals *arrive.Plan, words string, thresholds []objective.Objective) (*present.Document, error) {
	d := s.document(words)
	observer := observe.Begin(ctx, d, s.live, s.plan.cpus, s.runtime)
	defer observer.Close()
	observer.Export(s.export)
	observer.OnWindow(s.onWindow)
	s.export.Begin(d, arrivals)
	s.live.Begin(d)
	m, err := s.generate(ctx, s.plan.order(&s.server, arrivals), observer)
	if err != nil {
		if ctx.Err() != nil {
			err = errInterrupted
		}
		return nil, err
	}
	d.Ended = time.Now()
	observer.Conclude(m.result)
	return d, s.plan.conclude(d, m, arrivals, thresholds)
}

// Scenario returns the file of --targets; empty without one.
func (l *Flags) Scenario() string { return l.users.targets }

// Runs are runs of one kind of request against one server, for verbs that vary the load. They
// are not safe for concurrent use.
type Runs struct{ s *session }

// A Shape is the load of one run.
type Shape struct {
	Connections   int
	PerConnection int     // answers after which a connection is replaced by a new one; 0: as the flag says
	Rate          float64 // of an open loop with Poisson arrivals, in requests a second; 0: a closed loop
	Warmup        time.Duration
	Window        time.Duration
	OnWindow      func() // called when the window begins; it must return at once
}

// Open sends the request once, finds the server and prepares the runs. Its errors are those of
// [Flags.Run]. changed reports whether a flag was given; it is asked only about those that
// [Flags.BindOnly] added. The caller closes the runs.
func (l *Flags) Open(ctx context.Context, rawURL string, changed func(string) bool) (*Runs, error) {
	quiet := *l
	quiet.quiet = true
	plan, err := quiet.resolve(rawURL, func(flag string) bool { return slices.Contains(l.bound, flag) && changed(flag) })
	if err != nil {
		return nil, err
	}
	s := &session{plan: plan, machine: machine.Fingerprint("."), screen: screen.Screen{}}
	if err := s.open(ctx, io.Discard); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return &Runs{s}, nil
}

// PIDs returns the processes of the server; none if they are unknown.
func (r *Runs) PIDs() []int { return r.s.server.processes.PIDs }

// URL returns the address of the request.
func (r *Runs) URL() string { return r.s.plan.request.url.String() }

// CPUs returns how many CPUs the server may use beside the generator; 0 if that is unknown.
func (r *Runs) CPUs() int { return r.s.server.processes.CPUs }

// Run makes one run. A run that was cut short has both a document and an error.
func (r *Runs) Run(ctx context.Context, shape Shape) (*present.Document, error) {
	plan := *r.s.plan
	plan.flags.connections, plan.flags.warmup = shape.Connections, shape.Warmup
	plan.duration, plan.tick = shape.Window, tickOf(shape.Window)
	if shape.PerConnection > 0 {
		plan.flags.users.perConnection = shape.PerConnection
	}
	words := ""
	if plan.arrivals = nil; shape.Rate > 0 {
		plan.arrivals = &arrive.Plan{Rate: shape.Rate, Poisson: true, Seed: plan.seed}
		words = perSecond(shape.Rate) + ", " + spread(true)
	}
	s := *r.s
	s.plan, s.onWindow = &plan, shape.OnWindow
	return s.once(ctx, plan.arrivals, words, nil)
}

// Close releases all resources.
func (r *Runs) Close() error { return r.s.close() }

// Planned makes one run with the load that the flags describe, in a window of another length.
// warmup replaces the usual one, unless it is 0 or the flags have another. onWindow is called when the window begins; it
// must return at once.
func (r *Runs) Planned(ctx context.Context, warmup, window time.Duration, onWindow func()) (*present.Document, error) {
	plan := *r.s.plan
	plan.duration, plan.tick = window, tickOf(window)
	if warmup > 0 && plan.flags.warmup == usualWarmup {
		plan.flags.warmup = warmup
	}
	s := *r.s
	s.plan, s.onWindow = &plan, onWindow
	return s.once(ctx, plan.arrivals, plan.arrivalsText, nil)
}
