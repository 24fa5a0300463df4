package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/internal/redact"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/guard"
	"github.com/redline-go/redline/lab/load/command"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/suite"
	"github.com/redline-go/redline/lab/suite/toolchain"
)

const (
	resultsName = "results.json"
	pageName    = "report.html"

	maxVersions = 16 // of --go

	// quickBudget is the time that the runs of --quick may take.
	quickBudget = 8 * time.Minute

	// strictShare is the share of the runs that may fail a gate with --strict.
	strictShare = 0.10
)

// benchFlags are the flags of redline bench.
type benchFlags struct {
	suite.Config
	quick, full               bool
	subjectFiles              []string
	serverCPUs, generatorCPUs string
	shareCPUs                 bool
	out                       string
	allowInvalid, strict      bool
	gates                     bool
	margins                   string
	versions                  []string
}

func newBench() *cobra.Command { return new(benchFlags).command() }

// command returns the command with its flags.
func (b *benchFlags) command() *cobra.Command {
	c := &cobra.Command{
		Use:   "bench",
		Short: "Compare HTTP servers side by side",
		Long: `Compare HTTP servers side by side.

Every subject is built, started as a separate process on one CPU, and loaded
from another, block by block in random order. Each block measures the baseline
twice: the difference between the two is the noise floor, and smaller differences
are not reported as such. Servers are equivalent when the whole interval of their
ratio lies within --margin. The results are a table, results.json and report.html.

What disturbs the machine is left out of the figures that it spoils: rates and
latencies of runs in which the hypervisor or other processes took the CPUs, but
not memory or allocations. Blocks are added until the main metric of each workload
has enough undisturbed pairs, or the budget ends; none is measured again. A run of
an open loop waits for a calm moment, within limits. If there is none, it is
compared beside the other processes, with an interval that is wider by what they
may have done. With --budget, and none of --window, --warmup and --blocks, windows
are shortened for the blocks to fit, down to those of --quick; if even that is too
long, the first lines say without which workloads they fit.

To compare your own server, describe it in a subject file (YAML): docs/subjects.md
has the format, the requests of each workload, and examples in four languages.

With --go each subject that the command go builds is built with each version of
Go, and is a subject of its own, such as nethttp@1.25.3. The first version is the
baseline. The results then have what the garbage collector did, read from the
memory of the process. A version that is too old for the sources is left out,
with the reason, and the exit code is 1.

Exit codes: 0 every main metric has a verdict, is inconclusive, or has as many pairs
as --blocks says, 1 something could not be measured, 2 wrong usage, 4 a main metric
has too few usable pairs (with --strict: more than a tenth of the runs failed a
gate), 130 interrupted.`,
		Example: `  redline bench
  redline bench --subjects nethttp,fasthttp,limit --workloads plaintext,json
  redline bench --full --out results/full
  redline bench --subject-file mine.yaml --subjects nethttp,mine
  redline bench --go 1.26,1.27,local --subjects nethttp,limit --workloads json`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return b.run(c) },
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringSliceVar(&b.Subjects, "subjects", suite.Builtin(), "servers to compare, comma-separated")
	f.StringArrayVar(&b.subjectFiles, "subject-file", nil, "YAML `FILE` that describes your own subject; may be repeated")
	f.StringVar(&b.Baseline, "baseline", "", "subject to compare the others with (default: the first subject); with --go also a version")
	f.StringSliceVar(&b.versions, "go", nil, "`VERSIONS` of Go to build each subject with and to compare, comma-separated: 1.25 (its newest patch), 1.25.3 or local")
	f.StringSliceVar(&b.Workloads, "workloads", suite.Quick(), "workloads to run, comma-separated; all, at-all, redis-all, postgres-all, wait-all, fanout-all, mixed-all, sizes-all, https-all, http2-all, push-all and feed-all name groups")
	f.IntVar(&b.Connections, "connections", 64, "open connections; stream, idle, get10m, most of HTTP/2 and the open loops have their own defaults")
	f.DurationVar(&b.Window, "window", 5*time.Second, "measured time of a run; with --budget at most")
	f.DurationVar(&b.Warmup, "warmup", 2*time.Second, "time before the window; extended while the rate has a trend")
	f.IntVar(&b.Blocks, "blocks", 10, "measurements of each subject, at least; twice as many at most without a budget")
	f.DurationVar(&b.Budget, "budget", 0, "end the blocks after this time; builds, checks and maximum rates come before it (default: 8m with --quick, otherwise none)")
	f.StringVar(&b.margins, "margin", "", "`LIST` of margins within which servers are equivalent (default: cpu=5%,rate=5%,memory=5%,latency=10%)")
	f.Uint64Var(&b.Seed, "seed", 0, "seed of the order and the confidence intervals (default: random, recorded)")
	f.BoolVar(&b.quick, "quick", false, "short windows, three workloads, a budget of eight minutes (the default)")
	f.BoolVar(&b.full, "full", false, "all workloads except those of partial load, sizes, TLS and backends, long windows: more than an hour")
	f.StringVar(&b.serverCPUs, "server-cpus", "", "`CPUS` of the subjects, such as 0-3,6 (default: the first one allowed)")
	f.StringVar(&b.generatorCPUs, "generator-cpus", "", "`CPU` of the generator (default: the last one allowed)")
	f.BoolVar(&b.shareCPUs, "share-cpus", false, "allow the generator to share a CPU with the subjects: for open loops far below the maximum rate")
	f.StringVar(&b.Congestion, "congestion", "cubic", "TCP congestion control of both sides' sockets; empty: the system's default")
	f.BoolVar(&b.allowInvalid, "allow-invalid", false, "do not exit with code 4")
	f.BoolVar(&b.strict, "strict", false, "exit with code 4 when more than a tenth of the runs failed a gate, whatever it spoils")
	f.BoolVar(&b.gates, "gates", false, "print the gates that runs failed")
	f.StringVar(&b.out, "out", "", "`DIR` for results.json and report.html (default: results/DATE-TIME)")
	return c
}

// run makes a comparison and shows it.
func (b *benchFlags) run(c *cobra.Command) (err error) {
	catalogue, err := b.resolve(c)
	if err == nil {
		err = b.useToolchains(c, catalogue)
	}
	if err != nil && c.Context().Err() != nil {
		fmt.Fprintln(c.ErrOrStderr(), "redline: interrupted while toolchains were looked up; nothing was measured")
		return cli.ExitCode(130)
	}
	if err != nil {
		return cli.Misuse(err)
	}
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return fmt.Errorf("create the directory for the results: %w", err)
	}
	g, err := guard.Start(b.Executable)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()

	display := newDisplay(c.ErrOrStderr(), cli.ScreenOf(c, c.ErrOrStderr()), b.gates)
	file, runErr := suite.Bench(c.Context(), b.Config, catalogue, g, display.show)
	display.end()
	if file == nil {
		return runErr
	}
	if err := b.save(c.OutOrStdout(), cli.ScreenOf(c, c.OutOrStdout()), file); err != nil {
		return errors.Join(runErr, err)
	}
	return b.verdict(c.Context(), file, runErr)
}

// save writes the results, then the page, and prints the table.
func (b *benchFlags) save(w io.Writer, s screen.Screen, f *results.File) error {
	file, page := filepath.Join(b.out, resultsName), filepath.Join(b.out, pageName)
	if err := results.Save(file, f); err != nil {
		return err
	}
	if err := cli.WritePage(page, func(w io.Writer) error { return report.HTML(w, f) }); err != nil {
		return err
	}
	if err := report.Table(w, f, report.Terminal, s, b.gates); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nresults  %s\npage     %s\n", file, page)
	return err
}

// verdict returns the exit code: interrupted, something not measured, a main metric not decided, or
// nil for success.
func (b *benchFlags) verdict(ctx context.Context, f *results.File, runErr error) error {
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "redline: interrupted; what was measured so far is saved and marked partial")
		return cli.ExitCode(130)
	case runErr != nil:
		return runErr
	case slices.ContainsFunc(f.Runs, func(r results.Run) bool { return r.Failed != "" }):
		return cli.ExitCode(1) // the table lists it
	case slices.ContainsFunc(f.Subjects, func(s results.Subject) bool { return s.LeftOut != "" }):
		return cli.ExitCode(1) // a note says why
	case b.allowInvalid:
		return nil
	case slices.ContainsFunc(f.Gates, func(g results.Gate) bool { return !g.Passed }):
		return cli.ExitCode(command.ExitInvalid) // a line before the table says why
	}
	if share := failedShare(f); b.strict && share > strictShare {
		fmt.Fprintf(os.Stderr, "redline: %.0f %% of the runs failed a gate, and --strict allows %.0f %%: --gates shows them\n", 100*share, 100*strictShare)
		return cli.ExitCode(command.ExitInvalid)
	}
	return nil
}

// failedShare returns the share of the counted runs that failed a gate of any kind.
func failedShare(f *results.File) float64 {
	counted, failed := 0, 0
	for _, r := range f.Runs {
		if r.Counted {
			counted++
			if slices.ContainsFunc(r.Gates, func(g results.Gate) bool { return !g.Passed }) {
				failed++
			}
		}
	}
	return float64(failed) / float64(max(counted, 1))
}

// resolve turns the flags into a configuration.
func (b *benchFlags) resolve(c *cobra.Command) (*suite.Catalogue, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if b.Executable, err = os.Executable(); err != nil {
		return nil, err
	}
	b.mode(c.Flags().Changed)
	b.Tool, b.Command = cli.Version(), redact.Args(os.Args[1:])
	b.Workloads = suite.Expand(b.Workloads)
	if len(b.versions) > 0 && !c.Flags().Changed("subjects") {
		b.Subjects = []string{"nethttp", "limit"} // each of the default subjects with each version would take hours
	}
	b.BaselineSet = c.Flags().Changed("baseline")
	if b.Baseline == "" && len(b.Subjects) > 0 {
		b.Baseline = b.Subjects[0]
	}
	if !c.Flags().Changed("seed") {
		b.Seed = rand.Uint64() >> 11 // exact in JSON
	}
	if b.out == "" {
		b.out = filepath.Join("results", time.Now().Format("2006-01-02-150405"))
	}
	if err := b.check(); err != nil {
		return nil, err
	}
	if c.Flags().Changed("go") && (len(b.versions) == 0 || len(b.versions) > maxVersions) {
		return nil, fmt.Errorf("--go names %d versions: write 1 to %d, such as 1.25,1.26", len(b.versions), maxVersions)
	}
	if err := b.place(); err != nil {
		return nil, err
	}
	catalogue, err := suite.OpenCatalogue(dir, b.subjectFiles)
	if err != nil {
		return nil, err
	}
	if !c.Flags().Changed("workloads") {
		var left []string
		if b.Workloads, left = catalogue.Measurable(b.Workloads); len(left) > 0 {
			fmt.Fprintf(c.ErrOrStderr(), "redline: left out, because their rate is a share of the maximum of the subject limit, which is built from a checkout of Redline: %s\n",
				strings.Join(left, ", "))
		}
	}
	named := b.Config
	if len(b.versions) > 0 {
		named.Baseline = b.Subjects[0] // useToolchains checks the version that it may be
	}
	return catalogue, catalogue.Check(named)
}

// useToolchains gets the versions of --go, and replaces the subjects by their builds with the versions of --go.
func (b *benchFlags) useToolchains(c *cobra.Command, catalogue *suite.Catalogue) (err error) {
	if len(b.versions) == 0 {
		return nil
	}
	if b.Go, err = toolchain.Resolve(c.Context(), b.versions); err != nil {
		return err
	}
	return catalogue.UseToolchains(&b.Config, b.Go)
}

// mode sets the values of --quick and --full for flags that were not given.
func (b *benchFlags) mode(changed func(string) bool) {
	b.ConnectionsSet = changed("connections")
	b.Fit = changed("budget") && !slices.ContainsFunc([]string{"window", "warmup", "blocks"}, changed)
	quick := b.quick || !b.full && !slices.ContainsFunc([]string{"workloads", "window", "warmup", "blocks"}, changed)
	b.Mode = "custom"
	switch {
	case quick:
		b.Mode = "quick"
		setUnless(changed("window"), &b.Window, suite.ShortestWindow)
		setUnless(changed("warmup"), &b.Warmup, suite.ShortestWarmup)
		setUnless(changed("blocks"), &b.Blocks, 9)
		setUnless(changed("budget"), &b.Budget, quickBudget)
	case b.full:
		b.Mode = "full"
		setUnless(changed("workloads"), &b.Workloads, suite.Workloads())
	}
}

func setUnless[T any](given bool, to *T, value T) {
	if !given {
		*to = value
	}
}

func (b *benchFlags) check() error {
	for _, x := range []struct {
		what string
		list []string
	}{{"subject", b.Subjects}, {"workload", b.Workloads}} {
		if len(x.list) == 0 {
			return fmt.Errorf("no %s is named: write --%ss NAME,NAME", x.what, x.what)
		}
		sorted := slices.Sorted(slices.Values(x.list))
		if len(slices.Compact(sorted)) < len(x.list) {
			return fmt.Errorf("a %s is named twice in %v", x.what, x.list)
		}
	}
	var err error
	if b.Margins = suite.DefaultMargins(); b.margins != "" {
		if b.Margins, err = suite.ParseMargins(b.margins); err != nil {
			return fmt.Errorf("--margin %w", err)
		}
	}
	switch {
	case b.Budget < 0:
		return fmt.Errorf("--budget %v: want a time, or 0 for no limit", b.Budget)
	case b.quick && b.full:
		return errors.New("--quick and --full: use one of the two")
	case b.Connections < 1:
		return fmt.Errorf("--connections %d: want at least 1", b.Connections)
	case b.Blocks < 1:
		return fmt.Errorf("--blocks %d: want at least 1", b.Blocks)
	case b.Window < 100*time.Millisecond:
		return fmt.Errorf("--window %v: want at least 100ms", b.Window)
	case b.Warmup < 100*time.Millisecond:
		return fmt.Errorf("--warmup %v: want at least 100ms", b.Warmup)
	}
	return nil
}

// place chooses the CPUs of the two sides.
func (b *benchFlags) place() error {
	allowed, err := probe.Allowed()
	if err != nil {
		return err
	}
	if len(allowed) < 2 {
		return fmt.Errorf("this process may use %d CPU; the server and the generator need one each", len(allowed))
	}
	parse := func(flag, text string, fallback int) ([]int, error) {
		if text == "" {
			return []int{fallback}, nil
		}
		cpus, err := probe.ParseCPUs(text)
		if err != nil {
			return nil, fmt.Errorf("--%s %s: %w", flag, text, err)
		}
		for _, cpu := range cpus {
			if !slices.Contains(allowed, cpu) {
				return nil, fmt.Errorf("--%s %s: CPU %d is not one of the allowed CPUs, %s", flag, text, cpu, probe.FormatCPUs(allowed))
			}
		}
		return cpus, nil
	}
	if b.ServerCPUs, err = parse("server-cpus", b.serverCPUs, allowed[0]); err != nil {
		return err
	}
	if b.GeneratorCPUs, err = parse("generator-cpus", b.generatorCPUs, allowed[len(allowed)-1]); err != nil {
		return err
	}
	cpu, shared := b.SharedCPU()
	switch {
	case shared && !b.shareCPUs:
		return fmt.Errorf("CPU %d is used by both sides: a generator on the server's CPU measures itself; for open loops far below the maximum rate write --share-cpus", cpu)
	case !shared && b.shareCPUs:
		return errors.New("--share-cpus: the two sides share no CPU; write --server-cpus and --generator-cpus that overlap")
	}
	return nil
}
