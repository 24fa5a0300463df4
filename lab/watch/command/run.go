package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/internal/child"
	"github.com/redline-go/redline/lab/internal/cputime"
	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/internal/redact"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/watch"
	"github.com/redline-go/redline/lab/watch/output"
	"github.com/redline-go/redline/lab/watch/page"
)

// ExitGone is the exit code if the process ended although redline did not start it. What was
// seen until then is kept.
const ExitGone = 3

// ExitInterrupted is the exit code if a watch with a duration was interrupted.
const ExitInterrupted = 130

// Options are the flags of the verb.
type Options struct {
	PID        int
	Tree       bool
	Control    string   // path of a control socket
	PProf      string   // URL
	Command    []string // to start
	Every, For time.Duration
	JSON       string // file, or - for standard output
	HTML       string // file of the page
	Prometheus string // address
	Marks      []string
	NoBPF      bool // without the figures of eBPF
	Exact      bool // eBPF counts every event, at some percent of a busy server's CPU time

	// Samplers open further samplers of the process.
	Samplers []func(pid int) (watch.Sampler, error)
}

// Console is where a watch is shown.
type Console struct {
	Out, Err io.Writer
	Screen   screen.Screen // of Out
}

// run is one watch.
type run struct {
	o        Options
	console  Console
	marks    []watch.Mark
	found    found
	child    *child.Child // nil: the process ran already
	samplers []watch.Sampler
	extra    []watch.Figure
	outputs  []func(watch.Event) error
	lines    *output.Lines
	live     *output.Live
	page     *page.Page // nil: none is wanted
	closers  []func() error
}

// Run watches until the duration is over, ctx ends or the process ends. The error is a
// [cli.ExitCode] if everything was printed.
func Run(ctx context.Context, o Options, console Console) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	r := &run{o: o, console: console}
	if r.marks, err = watch.SetMarks(watch.Marks(), o.Marks); err != nil {
		return cli.Usage("--mark %w", err)
	}
	// A reader of standard output that leaves is an error and not the end of this process, so that
	// the command is ended in order.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.open(ctx); err != nil {
		return err
	}
	return r.watch(ctx)
}

// check returns a usage error for options that exclude one another.
func (o *Options) check() error {
	switch {
	case o.PID == 0 && o.Control == "" && o.PProf == "" && len(o.Command) == 0:
		return cli.Usage("name what to watch: --pid PID, --control SOCKET, --pprof URL, or a command to start: redline watch -- CMD")
	case o.PID != 0 && len(o.Command) > 0:
		return cli.Usage("--pid %d and a command to start: use one of the two", o.PID)
	case o.PID < 0:
		return cli.Usage("--pid %d: write the id of a process", o.PID)
	case o.Every < watch.LeastEvery || o.Every > maxEvery:
		return cli.Usage("--every %v: write a time from %v to %v", o.Every, watch.LeastEvery, maxEvery)
	case o.For < 0:
		return cli.Usage("--for %v: write a time of more than 0", o.For)
	}
	return nil
}

const maxEvery = time.Minute

// open finds or starts the process, and opens samplers and outputs.
func (r *run) open(ctx context.Context) (err error) {
	if len(r.o.Command) > 0 {
		out := r.console.Err
		if r.console.Screen.Width > 0 {
			out = nil // it would destroy the live view
		}
		if r.child, err = child.Start(r.o.Command, child.Options{Out: out}); err != nil {
			return err
		}
		r.closers = append(r.closers, r.child.Close)
		r.o.PID = r.child.PID()
	}
	var ended <-chan struct{}
	if r.child != nil {
		ended = r.child.Done()
	}
	if r.found, err = find(ctx, &r.o, ended); err != nil {
		return r.early(err)
	}
	if r.samplers, err = r.found.open(&r.o); err != nil {
		return r.early(err)
	}
	for _, s := range r.samplers {
		if d, ok := s.(watch.Describer); ok {
			r.extra = append(r.extra, d.Describe()...)
		}
	}
	return r.openOutputs()
}

// early returns the error of a command that ended before the first sample with what it wrote.
func (r *run) early(err error) error {
	if r.child == nil || !r.child.Ended() {
		return err
	}
	return fmt.Errorf("%s ended before it could be watched: %s", r.child.Name(), r.child.How())
}

// openOutputs opens what the events go to: JSON lines to the named file, and to standard
// output a live view on a terminal, or else JSON lines.
func (r *run) openOutputs() error {
	first := output.Begin{Tool: cli.Version(), Started: time.Now().UTC(), PID: r.found.pid, Command: redact.Args(r.o.Command), Every: r.o.Every.Seconds(), Extra: r.extra}
	terminal := r.console.Screen.Width > 0
	var to io.Writer
	switch {
	case r.o.JSON == "-" || r.o.JSON == "" && !terminal:
		to = r.console.Out
	case r.o.JSON != "":
		// Lines are written while the watch goes on, so that an interrupted one is kept.
		f, err := os.OpenFile(r.o.JSON, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			return fmt.Errorf("--json: %w", err)
		}
		r.closers = append(r.closers, f.Close)
		to = f
	}
	if to != nil {
		var err error
		if r.lines, err = output.NewLines(to, first); err != nil {
			return err
		}
		r.outputs = append(r.outputs, r.lines.Event)
	}
	if terminal && r.o.JSON != "-" {
		r.live = output.NewLive(r.console.Out, r.console.Screen, fmt.Sprintf("watching process %d%s", r.found.pid, r.title()), r.extra)
		r.outputs = append(r.outputs, r.live.Event)
	}
	if r.o.HTML != "" {
		r.page = page.New(first, fmt.Sprintf("Process %d%s", r.found.pid, r.title()))
		r.outputs = append(r.outputs, r.page.Event)
	}
	if r.o.Prometheus != "" {
		m, err := output.Listen(r.o.Prometheus, r.found.pid, r.extra)
		if err != nil {
			return fmt.Errorf("--prometheus %s: %w", r.o.Prometheus, err)
		}
		r.closers = append(r.closers, m.Close)
		r.outputs = append(r.outputs, m.Event)
		fmt.Fprintf(r.console.Err, "metrics: http://%s/metrics\n", m.Addr())
	}
	return nil
}

// title is the name of the process.
func (r *run) title() string {
	stat, err := procfs.Host.Stat(r.found.pid)
	if err != nil {
		return ""
	}
	return " (" + screen.Snip(strings.ToValidUTF8(stat.Comm, "?"), 16) + ")"
}

// watch takes the samples, prints the summary and decides on the exit code.
func (r *run) watch(ctx context.Context) error {
	w, err := watch.New(watch.Options{Every: r.o.Every, For: r.o.For, Samplers: r.samplers, Marks: r.marks, Cost: cputime.OfThread}, func(e watch.Event) error {
		for _, to := range r.outputs {
			if err := to(e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s, failed := w.Run(ctx)
	if r.live != nil {
		r.live.End()
		failed = errors.Join(failed, output.Print(r.console.Out, r.console.Screen, s, r.extra))
	}
	if r.lines != nil && failed == nil {
		failed = r.lines.End(s)
	}
	if r.page != nil {
		if err := cli.WritePage(r.o.HTML, func(w io.Writer) error { return r.page.Write(w, s) }); err != nil {
			failed = errors.Join(failed, fmt.Errorf("--html: %w", err))
		}
	}
	if failed != nil {
		return failed
	}
	switch {
	case s.End == watch.EndGone && r.child != nil:
		r.child.Wait()
		fmt.Fprintf(r.console.Err, "%s ended after %.1f s: %s\n", r.child.Name(), s.Seconds, r.child.How())
		return r.child.Exit()
	case s.End == watch.EndGone:
		fmt.Fprintf(r.console.Err, "process %d ended after %.1f s; the figures are those until then\n", r.found.pid, s.Seconds)
		return cli.ExitCode(ExitGone)
	case s.End == watch.EndInterrupted && r.o.For > 0:
		return cli.ExitCode(ExitInterrupted)
	}
	return nil
}

// close closes what open opened, in reverse order.
func (r *run) close() error {
	var errs []error
	for i := len(r.samplers) - 1; i >= 0; i-- {
		errs = append(errs, r.samplers[i].Close())
	}
	for i := len(r.closers) - 1; i >= 0; i-- {
		errs = append(errs, r.closers[i]())
	}
	return errors.Join(errs...)
}
