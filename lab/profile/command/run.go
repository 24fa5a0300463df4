package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	pprof "github.com/google/pprof/profile"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/profile"
	"github.com/redline-go/redline/lab/profile/show"
	"github.com/redline-go/redline/lab/profile/tree"
)

// Run runs the verb profile. files are profiles to read; without them profiles are taken. The
// error is a [cli.UsageError] for wrong flags.
func Run(ctx context.Context, t Target, v View, files []string, console Console) (err error) {
	if err := errors.Join(v.check(), v.outputs(files)); err != nil {
		return err
	}
	switch {
	case len(files) > 0 && (t.named() || t.Load != ""):
		return cli.Usage("%s: profiles are read from files, or taken from a process: use one of the two", files[0])
	case v.Diff && len(files) != 2:
		return cli.Usage("--diff compares two files: redline profile --diff BEFORE.pprof AFTER.pprof")
	case len(files) > 0:
		return v.read(ctx, files, console)
	case !t.named():
		return cli.Usage("name what to profile: --pid PID, --control SOCKET, --pprof URL, files, or a command to start: redline profile -- CMD")
	}
	if err := t.check(); err != nil {
		return err
	}
	c := &capture{target: &t, console: console}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.open(ctx); err != nil {
		return interrupted(ctx, err)
	}
	list, doc, err := c.window(ctx, 0)
	if err != nil && len(list) == 0 {
		return interrupted(ctx, err)
	}
	if doc != nil {
		fmt.Fprintf(console.Out, "load: %s, %s\n", doc.URL, loadLine(doc))
	}
	if c.pid != 0 && v.Binary == "" {
		v.Binary = c.exe()
	}
	return errors.Join(err, v.all(list, console))
}

// interrupted returns the exit code of an interrupted verb, or the error.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "redline: interrupted before a profile was complete")
	return cli.ExitCode(130)
}

// largestFile limits a file with a profile, in bytes.
const largestFile = 256 << 20

// readFile reads a profile.
func readFile(ctx context.Context, path string) (*pprof.Profile, error) {
	f, err := cli.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, largestFile+1))
	if err == nil && len(data) > largestFile {
		err = fmt.Errorf("%w: more than %d MiB", profile.ErrTooLarge, largestFile>>20)
	}
	var p *pprof.Profile
	if err == nil {
		p, err = profile.Decode(data)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// read shows profiles of files.
func (v *View) read(ctx context.Context, files []string, console Console) error {
	var list []taken
	for _, path := range files {
		p, err := readFile(ctx, path)
		if err != nil {
			return interrupted(ctx, err)
		}
		list = append(list, taken{name: path, profile: p})
	}
	if v.Diff {
		return v.diff(list[0], list[1], console)
	}
	return v.all(list, console)
}

// samples evaluates the value of a profile that is shown.
func (v *View) samples(one taken) (s *tree.Samples, value int, err error) {
	if value, err = tree.Pick(one.profile, one.kind, v.Value); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", one.name, err)
	}
	if s, err = tree.Read(one.profile, value, v.module(one.profile)); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", one.name, err)
	}
	return s, value, nil
}

// module returns the module of a profile of another tool, if the program is still there.
func (v *View) module(p *pprof.Profile) string {
	w, err := profile.WindowOf(p)
	switch {
	case err != nil || w.Module != "":
		return ""
	case v.Binary != "":
		return moduleOf(v.Binary)
	case len(p.Mapping) > 0:
		return moduleOf(p.Mapping[0].File)
	}
	return ""
}

// diff compares two profiles.
func (v *View) diff(before, after taken, console Console) error {
	a, _, err := v.samples(before)
	if err != nil {
		return err
	}
	b, _, err := v.samples(after)
	if err != nil {
		return err
	}
	if a.Type != b.Type || a.Unit != b.Unit {
		return fmt.Errorf("%s has %s, and %s has %s: compare profiles of one kind, or name the --value", before.name, a.Type, after.name, b.Type)
	}
	if err := show.Diff(console.Out, a, b, show.Options{Screen: console.OutScreen, Top: v.Top}); err != nil {
		return err
	}
	if v.HTML == "" {
		return nil
	}
	return v.page(v.HTML, before.name+" and "+after.name, b, a)
}
