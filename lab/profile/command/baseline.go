package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/internal/redact"
	"github.com/redline-go/redline/lab/machine"
	"github.com/redline-go/redline/lab/profile"
	"github.com/redline-go/redline/lab/profile/baseline"
	"github.com/redline-go/redline/lab/profile/rules"
	"github.com/redline-go/redline/lab/profile/show"
	"github.com/redline-go/redline/lab/profile/tree"
)

// Baseline is the command line of the verbs of baselines.
type Baseline struct {
	Target  Target
	Windows int
	Dir     string
	Limit   float64 // percent
	Rules   string  // file
	With    string  // name of another baseline
	JSON    string  // file
}

// BindDir adds the flag that all verbs of baselines have.
func (b *Baseline) BindDir(f *pflag.FlagSet) {
	f.StringVar(&b.Dir, "dir", baseline.Dir, "`DIRECTORY` of the baselines")
}

// BindWindows adds the flags of a measurement.
func (b *Baseline) BindWindows(f *pflag.FlagSet) {
	b.Target.Bind(f, "cpu", 5*time.Second)
	f.IntVar(&b.Windows, "windows", 8, "number of profiles, one after the other; a command is started anew for each")
	f.StringVar(&b.Rules, "rules", "", "judge by the rules in this `FILE` (default: those of redline baseline rules)")
	b.BindDir(f)
}

// BindCompare adds the flags of a comparison.
func (b *Baseline) BindCompare(f *pflag.FlagSet) {
	f.Float64Var(&b.Limit, "limit", 5, "exit with code 3 if a function or the total costs more than this many `PERCENT` of the baseline's total in addition")
	f.StringVar(&b.With, "with", "", "compare with the saved baseline of this `NAME`, instead of measuring")
	f.StringVar(&b.JSON, "json", "", "write the comparison as JSON to this `FILE`; - is standard output")
}

// ExitWorse is the exit code of a comparison with a regression.
const ExitWorse = 3

// fewest is the number of windows below which nothing can be compared.
const fewest = 3

// loadRules reads the rules.
func (b *Baseline) loadRules() ([]rules.Rule, error) {
	text, name := []byte(rules.Builtin), "built-in rules"
	if b.Rules != "" {
		f, err := os.Open(b.Rules)
		if err != nil {
			return nil, fmt.Errorf("--rules: %w", err)
		}
		defer f.Close()
		if text, err = io.ReadAll(io.LimitReader(f, rules.MaxFile+1)); err != nil {
			return nil, fmt.Errorf("--rules: %w", err)
		}
		name = b.Rules
	}
	list, err := rules.Parse(text)
	if err != nil {
		return nil, cli.Usage("%s: %w", name, err)
	}
	return list, nil
}

// check checks the flags of a measurement.
func (b *Baseline) check(files []string) error {
	if err := cli.CheckOutput("json", b.JSON, files...); err != nil {
		return err
	}
	switch {
	case len(files) > 0 && b.Target.named():
		return cli.Usage("%s: windows are files, or are taken from a process: use one of the two", files[0])
	case len(files) == 0 && !b.Target.named():
		return cli.Usage("name what to measure: --pid PID, --control SOCKET, --pprof URL, files with profiles, or a command to start: -- CMD")
	case len(files) > 0 && len(files) < fewest:
		return cli.Usage("%d files: a measurement has at least %d windows", len(files), fewest)
	case len(files) == 0 && (b.Windows < fewest || b.Windows > baseline.MaxWindows):
		return cli.Usage("--windows %d: want %d to %d", b.Windows, fewest, baseline.MaxWindows)
	case len(files) > 0:
		return nil
	}
	return b.Target.check()
}

// measure takes all windows, or reads them from files.
func (b *Baseline) measure(ctx context.Context, files []string, console Console) (*baseline.Vector, error) {
	v := &baseline.Vector{
		Schema: baseline.SchemaName, Version: baseline.SchemaVersion, Tool: cli.Version(), Command: redact.Args(os.Args[1:]),
		Saved: time.Now().UTC().Truncate(time.Second), Machine: machine.Fingerprint("."),
	}
	var windows []baseline.Window
	notes := noteList{}
	collect := func(list []taken) error {
		for _, one := range list {
			w, err := windowOf(one)
			if err != nil {
				return err
			}
			windows = append(windows, w)
			notes.add(w.Samples.Window.Notes)
		}
		return nil
	}
	if len(files) > 0 {
		for _, path := range files {
			p, err := readFile(ctx, path)
			if err != nil {
				return nil, err
			}
			if err := collect([]taken{{name: path, profile: p}}); err != nil {
				return nil, err
			}
		}
	} else if err := b.repeat(ctx, console, collect); err != nil {
		return nil, err
	}
	var err error
	v.Metrics, err = baseline.Measure(windows)
	v.Notes = notes.list()
	return v, err
}

// noteList has the notes of the windows. Those with the same beginning, up to a colon, are one.
type noteList map[string]struct {
	first string
	times int
}

func (l noteList) add(notes []string) {
	for _, note := range notes {
		begin, _, _ := strings.Cut(note, ":")
		one := l[begin]
		if one.times++; one.times == 1 {
			one.first = note
		}
		l[begin] = one
	}
}

func (l noteList) list() (notes []string) {
	for _, begin := range slices.Sorted(maps.Keys(l)) {
		one := l[begin]
		if one.times > 1 {
			one.first += fmt.Sprintf(" (and %d profiles more)", one.times-1)
		}
		notes = append(notes, one.first)
	}
	return notes[:min(len(notes), 20)]
}

// warmupAgain is the warm-up of the loads after the first, unless --warmup is given.
const warmupAgain = 500 * time.Millisecond

// repeat takes the windows. A command is started anew for each window.
func (b *Baseline) repeat(ctx context.Context, console Console, collect func([]taken) error) error {
	var c *capture
	closeIt := func() error {
		if c == nil {
			return nil
		}
		err := c.close()
		c = nil
		return err
	}
	for i := range b.Windows {
		warmup := warmupAgain
		if c == nil {
			warmup = 0
			c = &capture{target: &b.Target, console: console}
			if err := c.open(ctx); err != nil {
				return errors.Join(err, closeIt())
			}
		}
		list, _, err := c.window(ctx, warmup)
		if err == nil {
			err = collect(list)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("window %d of %d: %w", i+1, b.Windows, err), closeIt())
		}
		fmt.Fprintf(console.Err, "window %d of %d\n", i+1, b.Windows)
		if len(b.Target.Command) > 0 {
			if err := closeIt(); err != nil {
				return err
			}
		}
	}
	return closeIt()
}

// windowOf evaluates a profile as a window.
func windowOf(one taken) (w baseline.Window, err error) {
	value, err := tree.Pick(one.profile, one.kind, "")
	if err != nil {
		return w, fmt.Errorf("%s: %w", one.name, err)
	}
	if w.Samples, err = tree.Read(one.profile, value, ""); err != nil {
		return w, fmt.Errorf("%s: %w", one.name, err)
	}
	if w.Kind = string(one.kind); w.Kind == "" {
		w.Kind = kindOf(w.Samples)
	}
	if events, err := tree.Pick(one.profile, one.kind, "contentions"); err == nil {
		if w.Events, err = tree.Read(one.profile, events, ""); err != nil {
			return w, fmt.Errorf("%s: %w", one.name, err)
		}
	}
	return w, nil
}

// kindOf returns the kind of a profile from a file, by its value.
func kindOf(s *tree.Samples) string {
	for value, kind := range map[string]profile.Kind{"cpu": profile.CPU, "inuse_space": "heap", "alloc_space": "allocs", "delay": "mutex"} {
		if s.Type == value {
			return string(kind)
		}
	}
	return s.Type
}

// Save measures and saves a baseline.
func (b *Baseline) Save(ctx context.Context, name string, files []string, console Console) error {
	if err := baseline.CheckName(name); err != nil {
		return cli.Misuse(err)
	}
	if err := b.check(files); err != nil {
		return err
	}
	list, err := b.loadRules()
	if err != nil {
		return err
	}
	v, err := b.measure(ctx, files, console)
	if err != nil {
		return interrupted(ctx, err)
	}
	path, err := baseline.Save(b.Dir, name, v)
	if err != nil {
		return err
	}
	fmt.Fprintf(console.Out, "saved %s\n", path)
	if err := show.Vector(console.Out, v, console.OutScreen); err != nil {
		return err
	}
	return show.Findings(console.Out, list, nil, v, console.OutScreen)
}

// Compare compares a baseline with a new measurement, or with another baseline.
func (b *Baseline) Compare(ctx context.Context, name string, files []string, console Console) error {
	if err := b.checkCompare(name, files); err != nil {
		return err
	}
	list, err := b.loadRules()
	if err != nil {
		return err
	}
	before, err := baseline.Load(b.Dir, name)
	if err != nil {
		return err
	}
	var after *baseline.Vector
	if b.With != "" {
		after, err = baseline.Load(b.Dir, b.With)
	} else {
		after, err = b.measure(ctx, files, console)
	}
	if err != nil {
		return interrupted(ctx, err)
	}
	c, err := baseline.Compare(before, after, b.Limit/100)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	c.Notes = append(c.Notes, after.Notes...)
	if err := b.printComparison(c, list, before, after, console); err != nil {
		return err
	}
	if c.Worse() {
		return cli.ExitCode(ExitWorse)
	}
	return nil
}

func (b *Baseline) checkCompare(name string, files []string) error {
	for _, one := range []string{name, b.With} {
		if one != "" && baseline.CheckName(one) != nil {
			return cli.Misuse(baseline.CheckName(one))
		}
	}
	if !(b.Limit >= 0 && b.Limit <= 1000) {
		return cli.Usage("--limit %v: want a number of percent, such as 5", b.Limit)
	}
	if b.With == "" {
		return b.check(files)
	}
	if len(files) > 0 || b.Target.named() || b.Target.Load != "" {
		return cli.Usage("--with %s compares two saved baselines: leave out what to measure", b.With)
	}
	return nil
}

// printComparison writes the comparison, for people and as JSON.
func (b *Baseline) printComparison(c *baseline.Comparison, list []rules.Rule, before, after *baseline.Vector, console Console) error {
	encode := func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", " ")
		return enc.Encode(c)
	}
	if b.JSON == "-" {
		return encode(console.Out)
	}
	if err := show.Comparison(console.Out, c, console.OutScreen); err != nil {
		return err
	}
	if err := show.Findings(console.Out, list, before, after, console.OutScreen); err != nil {
		return err
	}
	if b.JSON == "" {
		return nil
	}
	return cli.WritePage(b.JSON, encode)
}

// List writes the names of all baselines, with what they have.
func (b *Baseline) List(console Console) error {
	names, err := baseline.List(b.Dir)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		fmt.Fprintf(console.Out, "no baselines in %s; save one with redline baseline save NAME\n", b.Dir)
	}
	for _, name := range names {
		v, err := baseline.Load(b.Dir, name)
		if err != nil {
			fmt.Fprintf(console.Out, "%-20s damaged: %v\n", name, err)
			continue
		}
		var what []string
		for kind, m := range v.Metrics {
			what = append(what, fmt.Sprintf("%s (%d windows)", kind, m.Windows))
		}
		slices.Sort(what)
		fmt.Fprintf(console.Out, "%-20s %s  %s\n", name, v.Saved.Local().Format("2006-01-02 15:04"), strings.Join(what, ", "))
	}
	return nil
}

// Remove removes baselines.
func (b *Baseline) Remove(names []string, console Console) error {
	for _, name := range names {
		if err := baseline.Remove(b.Dir, name); err != nil {
			return err
		}
		fmt.Fprintf(console.Out, "removed %s\n", filepath.Join(b.Dir, name+".json"))
	}
	return nil
}
