package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/guard"
	"github.com/redline-go/redline/lab/internal/redact"
	"github.com/redline-go/redline/lab/machine"
	"github.com/redline-go/redline/lab/oom"
	"github.com/redline-go/redline/lab/oom/group"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/screen"
)

// Console is where the report is shown.
type Console struct {
	Out, Err io.Writer
	Screen   screen.Screen // of Out
}

// verb is one call of the verb.
type verb struct {
	Options
	limits
	url     string
	changed func(string) bool
	guard   *guard.Guard // nil without groups
	say     func(format string, args ...any)
}

// Run starts the server and raises its load. The error is a [cli.ExitCode] if everything was
// printed.
func Run(ctx context.Context, o Options, url string, changed func(string) bool, console Console) (err error) {
	l, err := o.check(url, changed("targets"))
	if err != nil {
		return err
	}
	v := &verb{Options: o, limits: l, url: url, changed: changed, say: func(string, ...any) {}}
	if !o.Quiet {
		v.say = func(format string, args ...any) { fmt.Fprintf(console.Err, format+"\n", args...) }
	}
	r := &oom.Report{Schema: oom.Schema, Tool: cli.Version(), Command: redact.Args(os.Args[1:]), Started: time.Now(), URL: redact.Text(url), Machine: machine.Fingerprint(".")}
	err = v.runs(ctx, r)
	if len(r.Runs) == 0 {
		if ctx.Err() != nil {
			return cli.ExitCode(130)
		}
		return err
	}
	if err != nil {
		r.Partial = redact.Text(err.Error())
	}
	r.Ended = time.Now()
	r.Conclude()
	return v.finish(ctx, r, console)
}

// runs makes the runs. The group of each is gone when it returns.
func (v *verb) runs(ctx context.Context, r *oom.Report) (err error) {
	if !v.NoGroup {
		exe, err := os.Executable()
		if err != nil {
			return err
		}
		if v.guard, err = guard.Start(exe); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, v.guard.Close()) }()
	}
	if v.goShare > 0 && v.group == 0 {
		if err := v.measure(ctx); err != nil {
			return err
		}
	}
	scores := []*int{nil}
	if v.Adjust && v.Again {
		scores = append(scores, &v.ScoreAdj)
	} else if v.Adjust {
		scores[0] = &v.ScoreAdj
	}
	for _, score := range scores {
		run, err := v.attempt(ctx, score)
		if run != nil {
			r.Runs = append(r.Runs, run)
			v.group = run.Limit // the same for both
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// measure starts the server once to find its limit, of which GOMEMLIMIT is a share.
func (v *verb) measure(ctx context.Context) (err error) {
	s, err := v.start(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if s.ended() {
		return fmt.Errorf("%s ended before it accepted connections: %s", s.child.Name(), s.child.How())
	}
	v.group = s.run.Limit
	return nil
}

// errNoGroup explains what to do without a group.
func errNoGroup(err error) error {
	return fmt.Errorf("%w; run it as root on a machine, or in a container, whose memory controller is writable, or try GOMEMLIMIT only, with --no-group --gomemlimit SIZE", err)
}

// ceiling returns how much memory the server may use at most, so that the machine is never short:
// less than what is free.
func ceiling() (int64, error) {
	free, err := group.Free()
	if err != nil {
		return 0, fmt.Errorf("find out the free memory: %w", err)
	}
	return free / 10 * 8, nil
}

// below returns an error unless a limit leaves the machine memory.
func below(flag string, limit int64) error {
	most, err := ceiling()
	if err == nil && limit > most {
		err = fmt.Errorf("%s of %s is more than 80 %% of the free memory, which are %s: the machine itself would be short; write a smaller one",
			flag, report.Bytes(float64(limit), " "), report.Bytes(float64(most), " "))
	}
	return err
}

// finish prints and saves the report, and returns the exit code.
func (v *verb) finish(ctx context.Context, r *oom.Report, console Console) error {
	var err error
	if v.JSON != "-" {
		err = r.Text(console.Out, console.Screen)
	}
	encode := func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	switch v.JSON {
	case "":
	case "-":
		err = encode(console.Out)
	default:
		err = errors.Join(err, cli.WritePage(v.JSON, encode))
	}
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return cli.ExitCode(130)
	}
	died := false
	for _, one := range r.Runs {
		if !one.Valid {
			return cli.ExitCode(ExitInvalid)
		}
		died = died || one.Outcome != oom.Held
	}
	switch {
	case r.Partial != "":
		return cli.ExitCode(ExitInvalid)
	case died:
		return cli.ExitCode(ExitDied)
	}
	return nil
}
