package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/internal/file"
	"github.com/redline-go/redline/lab/internal/redact"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/trace"
	"github.com/redline-go/redline/lab/trace/output"
	"github.com/redline-go/redline/lab/trace/page"
)

const (
	// ExitPartial is the exit code if the trace could only be read in part.
	ExitPartial = 3

	firstClocked = "1.25" // version of Go whose traces tell the time of other clocks

	maxTime = time.Minute // that a trace may cover: what a control socket allows, too
	mebi    = 1 << 20
)

// Options are the flags of the verb.
type Options struct {
	File    string // a trace
	PProf   string // URL
	Control string // path of a control socket
	Command []string

	For time.Duration
	// Handlers names the handlers of requests from outside, of the command or the process PID.
	Handlers bool
	PID      int

	Samples bool // take a CPU profile at the same time, whose samples are in the trace
	Load    Load
	Save    string
	JSON    string
	HTML    string
	Memory  int64 // MiB that one generation may need
	Largest int64 // MiB of a trace that is taken
}

// Console is where a report is shown.
type Console struct {
	Out, Err io.Writer
	Screen   screen.Screen // of Out
}

// Run gets a trace and reports it. The error is a [cli.ExitCode] if everything was printed.
func Run(ctx context.Context, o Options, console Console) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.File != "" {
		f, err := cli.Open(ctx, o.File)
		if ctx.Err() != nil {
			return interrupted(console)
		}
		if err != nil {
			return err
		}
		return errors.Join(report(ctx, &o, console, f, origin{name: o.File}), f.Close())
	}
	f, err := os.CreateTemp("", "redline-trace-*")
	if err != nil {
		return fmt.Errorf("keep the trace: %w", err)
	}
	// Without a name it is gone with this process, also if that is killed.
	if err := os.Remove(f.Name()); err != nil {
		return fmt.Errorf("keep the trace: %w", errors.Join(err, f.Close()))
	}
	err = taken(ctx, &o, console, f)
	return errors.Join(err, f.Close())
}

// taken takes a trace into f, and reports it.
func taken(ctx context.Context, o *Options, console Console, f *os.File) error {
	from, err := take(ctx, o, console, f)
	begun, failed := f.Seek(0, io.SeekEnd)
	switch {
	case failed != nil:
		return fmt.Errorf("keep the trace: %w", errors.Join(err, failed))
	case errors.Is(err, errCut) && begun > 0:
		for line := range strings.Lines(redact.Text(err.Error())) {
			fmt.Fprintf(console.Err, "redline: %s\n", strings.TrimSpace(line))
		}
		from.cut = "the connection ended before it was complete"
	case err != nil:
		return err
	}
	var kept error
	if o.Save != "" {
		kept = save(f, o.Save)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return errors.Join(kept, fmt.Errorf("read the trace: %w", err))
	}
	return errors.Join(kept, report(ctx, o, console, f, from))
}

// origin is where a trace comes from.
type origin struct {
	name     string
	cut      string          // why it is not whole; empty: it is, or only the reader knows
	handlers *trace.Handlers // that were seen from outside; nil: nobody looked
}

// save copies a trace that was taken to the file that was asked for.
func save(f *os.File, path string) (err error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("--save: %w", err)
	}
	out, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("--save: %w", err)
	}
	_, err = io.Copy(out, f)
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("--save %s: %w", path, err)
	}
	return nil
}

// check returns a usage error for options that exclude one another.
func (o *Options) check() error {
	sources := 0
	for _, given := range []bool{o.File != "", o.PProf != "", o.Control != ""} {
		if given {
			sources++
		}
	}
	switch {
	case sources == 0 && len(o.Command) > 0:
		return cli.Usage("say where %s serves its traces: --pprof URL or --control SOCKET", o.Command[0])
	case sources == 0:
		return cli.Usage("name a trace: a file, --pprof URL, or --control SOCKET")
	case sources > 1:
		return cli.Usage("name one source of the trace: a file, --pprof URL, or --control SOCKET")
	case o.File != "" && len(o.Command) > 0:
		return cli.Usage("%s is a file: there is nothing to start", o.File)
	case o.File != "" && (o.Load.URL != "" || o.Save != ""):
		return cli.Usage("%s is a file: --load and --save are for traces that are taken", o.File)
	case o.Handlers && (o.File != "" || o.PID == 0 && len(o.Command) == 0):
		return cli.Usage("--handlers looks at a process while the trace is taken: name it with --pid, or start it")
	case o.PID != 0 && (!o.Handlers || o.PID < 0 || len(o.Command) > 0):
		return cli.Usage("--pid names the process of --handlers that runs already")
	case o.For < time.Second || o.For > maxTime || o.For%time.Second != 0:
		return cli.Usage("--for %v: write whole seconds, from 1s to %v", o.For, maxTime)
	case o.Load.URL == "" && (o.Load.Rate != "" || o.Load.Connections != 0):
		return cli.Usage("--rate and --connections are those of --load URL")
	case o.Memory <= 0 || o.Largest <= 0 || o.Memory > 1<<30 || o.Largest > 1<<30:
		return cli.Usage("--memory %d, --largest %d: write a number of MiB", o.Memory, o.Largest)
	}
	for flag, path := range map[string]string{"json": o.JSON, "html": o.HTML, "save": o.Save} {
		if err := cli.CheckOutput(flag, path, o.File, o.Control); err != nil {
			return err
		}
	}
	return nil
}

// interrupted returns the exit code of a verb that was interrupted before it had a report.
func interrupted(console Console) error {
	fmt.Fprintln(console.Err, "redline: interrupted before the trace was read")
	return cli.ExitCode(130)
}

// report reads a trace and writes all that was asked for.
func report(ctx context.Context, o *Options, console Console, in io.Reader, from origin) error {
	r, err := trace.Read(ctx, in, trace.Options{Memory: o.Memory * mebi, Handlers: from.handlers})
	if ctx.Err() != nil {
		return interrupted(console)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", redact.Text(from.name), err)
	}
	if from.handlers != nil && r.Go < firstClocked {
		fmt.Fprintf(console.Err, "redline: --handlers named none: only traces of programs of Go %s and newer tell the time of other clocks\n", firstClocked)
	}
	r.Source = redact.Text(from.name)
	if r.Partial == "" {
		r.Partial = from.cut
	}
	// An output that cannot be written does not keep the others from being written.
	if o.JSON != "" {
		err = errors.Join(err, writeJSON(o.JSON, console.Out, r))
	}
	if o.HTML != "" {
		if failed := cli.WritePage(o.HTML, func(w io.Writer) error { return page.Write(w, r) }); failed != nil {
			err = errors.Join(err, fmt.Errorf("--html: %w", failed))
		}
	}
	if o.JSON != "-" {
		err = errors.Join(err, output.Print(console.Out, console.Screen, r))
	}
	if err == nil && r.Partial != "" {
		return cli.ExitCode(ExitPartial)
	}
	return err
}

func writeJSON(path string, out io.Writer, r *trace.Report) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	data = append(data, '\n')
	if path == "-" {
		_, err = out.Write(data)
	} else {
		err = file.Write(path, data)
	}
	if err != nil {
		return fmt.Errorf("--json: %w", err)
	}
	return nil
}
