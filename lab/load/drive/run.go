package drive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/guard"
	"github.com/redline-go/redline/lab/load"
	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/objective"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/machine"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/spawn"
)

// endPatience is how long an interrupted generator has to bring its result: it
// waits a second for what is under way.
const endPatience = 10 * time.Second

// errInterrupted ends a run that had not measured anything yet.
var errInterrupted = errors.New("interrupted before anything was measured")

// loader carries out a plan.
type loader struct {
	*plan
	exe      string
	guard    *guard.Guard
	launcher *spawn.Launcher
	live     *present.Live // nil when nothing is shown
	addr     string
	status   int
	machine  results.Machine
	server   present.Server // without PIDs when it is not known
	view     view
}

// Run carries out the verb on a URL. It returns a [cli.UsageError] for flags that
// cannot be meant, and a [cli.ExitCode] when all has been said.
func (l *Flags) Run(c *cobra.Command, rawURL string) (err error) {
	plan, err := l.resolve(rawURL, c.Flags().Changed)
	if err != nil {
		return err
	}
	switch {
	case plan.try:
		return plan.rehearsal(c.Context(), c.OutOrStdout())
	case plan.kubernetes && !plan.apply:
		return plan.manifest(c, rawURL)
	case plan.kubernetes:
		if doubt := unreachable(plan.request.url); doubt != "" {
			plan.notes = append(plan.notes, doubt)
		}
	}
	r := &loader{plan: plan, machine: machine.Fingerprint(".")}
	if r.exe, err = os.Executable(); err != nil {
		return err
	}
	if err := r.meet(c.Context()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.closeView()) }()
	if err := r.openView(c.Context()); err != nil {
		return err
	}
	if !l.quiet {
		r.live = present.NewLive(c.ErrOrStderr(), cli.Width(c.ErrOrStderr()))
	}
	if r.guard, err = guard.Start(r.exe); err != nil {
		return err
	}
	r.launcher = spawn.NewLauncher()
	defer func() {
		r.launcher.Close()
		err = errors.Join(err, r.guard.Close())
	}()
	var doc *present.Document
	if len(r.find) > 0 {
		if r.live != nil {
			r.live.Steps()
		}
		doc, err = r.search(c.Context())
	} else {
		doc, err = r.once(c.Context(), r.arrivals, r.words, r.thresholds)
	}
	if r.live != nil {
		r.live.End()
	}
	if doc != nil {
		if out := r.write(c, doc); out != nil {
			return errors.Join(err, out)
		}
	}
	return r.verdict(c.Context(), doc, err)
}

// meet asks the server once, and finds its processes.
func (r *loader) meet(ctx context.Context) error {
	first, err := r.first(ctx)
	if err != nil {
		return err
	}
	r.addr = first.addr.String()
	pids := r.pids
	if len(pids) == 0 && first.local {
		if pids, err = probe.Listening(int(first.addr.Port())); err != nil {
			return err
		}
	}
	for _, pid := range pids {
		tree := probe.Tree(pid)
		if len(tree) == 0 {
			return fmt.Errorf("--pid %d: there is no such process", pid)
		}
		r.server.PIDs = append(r.server.PIDs, tree...)
	}
	slices.Sort(r.server.PIDs)
	r.server.PIDs = slices.Compact(r.server.PIDs)
	if len(pids) == 0 {
		return nil
	}
	cpus, err := probe.AllowedTo(pids[0])
	if err != nil {
		return err
	}
	// The generator's own CPU is not the server's as long as that is busy.
	others := slices.DeleteFunc(slices.Clone(cpus), func(c int) bool { return slices.Contains(r.cpus, c) })
	if r.server.CPUs = len(others); r.server.CPUs == 0 {
		r.server.CPUs = len(cpus)
	}
	return nil
}

// document is a run's before it began.
func (r *loader) document(words string) *present.Document {
	d := &present.Document{
		Tool: cli.Version(), Command: cli.Redact(os.Args[1:]), Started: time.Now(), URL: cli.RedactURL(r.request.url), Machine: r.machine,
		Series: []present.Point{}, Notes: slices.Clone(r.notes),
		Config: present.Config{
			Method: r.request.method, Headers: len(r.request.wire) - r.request.body, Body: r.request.body, Status: r.status,
			Connections: r.connections, Pipeline: r.pipeline, Arrivals: words, Seed: r.seed,
			DurationSeconds: r.duration.Seconds(), WarmupSeconds: r.warmup.Seconds(), TimeoutSeconds: r.timeout.Seconds(), CPUs: r.cpus,
		},
	}
	r.describeUsers(&d.Config)
	if r.listen != nil {
		d.Stream = r.audience()
	}
	r.describeProtocol(&d.Config)
	if len(r.server.PIDs) > 0 {
		server := r.server
		d.Server = &server
	}
	return d
}

// once carries out one run. Of one that was given up there is a document as well as
// the error.
func (r *loader) once(ctx context.Context, plan *arrive.Plan, words string, thresholds []objective.Objective) (*present.Document, error) {
	d := r.document(words)
	order := &spec.Spec{
		Addr: r.addr, Request: r.request.wire, Expect: spec.Expect{Status: r.status},
		Connections: r.connections, Pipeline: r.pipeline, Warmup: r.warmup, Window: r.duration, Tick: tickOf(r.duration),
		Timeout: r.timeout, Arrivals: plan, ServerPIDs: r.server.PIDs, Listen: r.listen,
	}
	r.hand(order)
	r.handProtocol(order)
	w := &watch{loader: r, doc: d, crew: new(crewed), look: r.look(ctx, d)}
	defer w.close()
	if r.live != nil {
		r.live.Begin(d)
	}
	result, err := r.measure(ctx, order, w)
	if err != nil {
		if ctx.Err() != nil {
			err = errInterrupted
		}
		return nil, err
	}
	d.Ended = time.Now()
	if result.Cut {
		why := "interrupted"
		if result.GaveUp != "" {
			why = "given up"
		}
		d.Partial = fmt.Sprintf("%s after %.1f s of %v; the figures are of that time", why, result.Seconds, r.duration)
	}
	target := 0.0
	if plan != nil {
		if target = plan.Rate; len(plan.Stages) > 0 || plan.Burst.Factor != 0 {
			target = float64(result.Open.Due) / result.Seconds
		}
	}
	w.look.conclude(result)
	d.Ask(plan)
	if err := d.Fill(result, target, thresholds); err != nil {
		return d, err
	}
	if err := w.crew.conclude(d, target); err != nil || result.GaveUp == "" {
		return d, err
	}
	return d, errors.New(result.GaveUp)
}

// tickOf is the distance of the time series' points: five a second, one in runs
// of more than five minutes, and five points at least.
func tickOf(window time.Duration) time.Duration {
	if window > 5*time.Minute {
		return time.Second
	}
	return min(200*time.Millisecond, window/5)
}

// generate runs a generator process to its result. The end of ctx asks it for
// the result now.
func (r *loader) generate(ctx context.Context, order *spec.Spec, see func(spec.Event) error) (*spec.Result, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	p, err := load.Start(life, r.launcher, r.exe, r.cpus, order)
	if err != nil {
		return nil, err
	}
	release, err := r.guard.KillGroup(p.PID())
	if err != nil {
		end()
		_, why := p.Follow(see)
		return nil, errors.Join(err, why)
	}
	stop := context.AfterFunc(ctx, func() {
		if p.Interrupt() != nil {
			end()
			return
		}
		select {
		case <-life.Done():
		case <-time.After(endPatience):
			end()
		}
	})
	defer stop()
	result, err := p.Follow(see)
	return result, errors.Join(err, release())
}

// verdict is how the command ends.
func (r *loader) verdict(ctx context.Context, d *present.Document, err error) error {
	switch {
	case ctx.Err() != nil:
		if d == nil {
			fmt.Fprintln(os.Stderr, "redline:", errInterrupted)
		}
		return cli.ExitCode(130)
	case err != nil:
		return err
	case !d.Valid && !r.allowInvalid:
		return cli.ExitCode(ExitInvalid)
	case !d.Kept() || d.Search != nil && d.Search.Rate == 0:
		return cli.ExitCode(ExitBroken)
	}
	return nil
}
