package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/diagnose/gather"
	"github.com/redline-go/redline/lab/diagnose/present"
	"github.com/redline-go/redline/lab/diagnose/rules"
	"github.com/redline-go/redline/lab/diagnose/trial"
	"github.com/redline-go/redline/lab/internal/redact"
	load "github.com/redline-go/redline/lab/load/command"
	"github.com/redline-go/redline/lab/machine"
	"github.com/redline-go/redline/lab/report/screen"
)

// The exit codes, in addition to those of all verbs.
const (
	ExitCauses  = 3 // causes were found, with --fail-over
	ExitInvalid = 4 // the load was not valid

	ExitInterrupted = 130
)

// Options are the flags of the verb.
type Options struct {
	Load     load.Flags
	Command  []string // that starts the server; none: it runs already
	Try      bool     // try changes of the load, although the server runs already
	NoTry    bool     // try nothing
	Source   string   // directory of the server's sources; empty: no advice
	Control  string
	PProf    string
	Most     int           // connections
	Window   time.Duration // of each of the three loads
	Step     time.Duration // of a run of the sweep
	Warmup   time.Duration
	JSON     string // file, or - for standard output
	Markdown string
	HTML     string
	Record   string  // file for the evidence, with all stacks
	From     string  // such a file, to judge instead of a server
	FailOver float64 // exit with ExitCauses if a cause would gain more; 0: never
	Quiet    bool
}

// Console is where the report is shown.
type Console struct {
	Out, Err io.Writer
	Screen   screen.Screen // of Out
}

// Run diagnoses the server of a URL, or the recorded evidence if there is no URL. The error is a
// [cli.ExitCode] if everything was printed.
func Run(ctx context.Context, o Options, url string, changed func(string) bool, console Console) error {
	if err := o.check(url, changed("targets")); err != nil {
		return err
	}
	r := &diagnose.Report{Tool: cli.Version(), Command: redact.Args(os.Args[1:]), Started: time.Now(), URL: redact.Text(url), Machine: machine.Fingerprint(".")}
	e, err := o.evidence(ctx, url, changed, console)
	if e == nil || !slices.ContainsFunc(e.Sweep, func(p diagnose.Point) bool { return p.Rate > 0 }) {
		if ctx.Err() != nil {
			return cli.ExitCode(ExitInterrupted)
		}
		return cmp.Or(err, gather.ErrNoAnswer)
	}
	if err != nil {
		r.Partial = err.Error()
	}
	r.Causes, r.Time = rules.Find(e), rules.Spend(e)
	if err == nil {
		if err := o.try(ctx, url, changed, console, e, r); err != nil {
			r.Partial = err.Error()
		}
		r.Advice = o.advise(ctx, e)
	}
	r.Evidence = e.Slim()
	r.Ended = time.Now()
	r.Conclude()
	if ctx.Err() != nil {
		r.Partial = "interrupted"
	}
	err = o.finish(r, e, console)
	if code := cli.ExitCode(0); ctx.Err() != nil && (err == nil || errors.As(err, &code)) {
		return cli.ExitCode(ExitInterrupted)
	}
	return err
}

// evidence gathers the evidence, or reads what was recorded. With an error, it is what was seen
// until then.
func (o *Options) evidence(ctx context.Context, url string, changed func(string) bool, console Console) (e *diagnose.Evidence, err error) {
	if o.From != "" {
		return read(o.From)
	}
	s, err := o.start(ctx, url, changed, trial.Change{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	runs := s.runs
	g := gather.Options{Runs: runs, Most: o.Most, Window: o.Window, Step: o.Step, Warmup: o.Warmup, Seed: 1}
	g.Say = o.say(console)
	g.Server = gather.Describe(runs.PIDs(), runs.CPUs())
	probes, err := o.probes(ctx, &g.Server)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, probes.close()) }()
	g.Probes = probes.list
	e, err = gather.Gather(ctx, g)
	for _, text := range probes.missing {
		e.Miss(text)
	}
	return e, err
}

// say returns where progress goes.
func (o *Options) say(console Console) func(string) {
	if o.Quiet {
		return func(string) {}
	}
	return func(text string) { fmt.Fprintln(console.Err, text) }
}

// check returns a usage error for options that make no sense. The targets of a scenario have a
// base of their own.
func (o *Options) check(url string, targets bool) error {
	switch {
	case url == "" && o.From == "" && !targets:
		return cli.Usage("name one URL, such as redline diagnose http://127.0.0.1:8080/")
	case url != "" && o.From != "":
		return cli.Usage("--from judges recorded evidence: leave out the URL, or --from")
	case o.From != "" && (len(o.Command) > 0 || o.Try):
		return cli.Usage("--from judges recorded evidence: there is no server to start or to try anything with")
	case o.stdouts() > 1:
		return cli.Usage("only one of --json, --markdown and --html can be written to standard output")
	case o.Record == "-":
		return cli.Usage("--record -: name a file: it is compressed")
	case o.Try && o.NoTry:
		return cli.Usage("--trials and --no-trials: leave out one of the two")
	case len(o.Command) > 0 && o.Load.Scenario() == "-":
		return cli.Usage("--targets -: the scenario is needed for each start of the command; write it to a file")
	case o.Most < 4:
		return cli.Usage("--most %d: the sweep needs at least 4 connections", o.Most)
	case o.Window < time.Second:
		return cli.Usage("--window %v: write at least 1s", o.Window)
	case o.Step < 200*time.Millisecond:
		return cli.Usage("--step %v: write at least 200ms", o.Step)
	case o.FailOver < 0 || o.FailOver >= 1:
		return cli.Usage("--fail-over %v: write a share from 0 to 1, such as 0.1", o.FailOver)
	}
	return nil
}

// stdouts returns how many outputs go to standard output.
func (o *Options) stdouts() (n int) {
	for _, path := range []string{o.JSON, o.Markdown, o.HTML} {
		if path == "-" {
			n++
		}
	}
	return n
}

// finish prints and saves the report, and returns the exit code.
func (o *Options) finish(r *diagnose.Report, e *diagnose.Evidence, console Console) error {
	var shown error
	if o.stdouts() == 0 {
		shown = present.Text(console.Out, console.Screen, r)
	}
	if err := errors.Join(shown, o.save(r, e, console.Out)); err != nil {
		return err
	}
	switch {
	case !r.Valid || r.Partial != "":
		return cli.ExitCode(ExitInvalid)
	case o.FailOver > 0 && slices.ContainsFunc(r.Causes, func(c diagnose.Cause) bool { return c.Gain.Fatal || c.Gain.Share() > o.FailOver }):
		return cli.ExitCode(ExitCauses)
	}
	return nil
}

// save writes the files that were asked for. One that cannot be written does not keep the others
// from being written.
func (o *Options) save(r *diagnose.Report, e *diagnose.Evidence, out io.Writer) error {
	var errs []error
	for _, f := range []struct {
		flag, path string
		write      func(io.Writer) error
	}{
		{"json", o.JSON, func(w io.Writer) error { return encode(w, r) }},
		{"markdown", o.Markdown, func(w io.Writer) error { return present.Markdown(w, r) }},
		{"html", o.HTML, func(w io.Writer) error { return present.Page(w, r, e) }},
		{"record", o.Record, func(w io.Writer) error { return record(w, e) }},
	} {
		switch f.path {
		case "":
		case "-":
			errs = append(errs, f.write(out))
		default:
			if err := cli.WritePage(f.path, f.write); err != nil {
				errs = append(errs, fmt.Errorf("--%s: %w", f.flag, err))
			}
		}
	}
	return errors.Join(errs...)
}

func encode(w io.Writer, r *diagnose.Report) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}
