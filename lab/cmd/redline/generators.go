package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/internal/file"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/rivals"
	"github.com/redline-go/redline/lab/rivals/scripted"
	"github.com/redline-go/redline/lab/suite"
)

// generatorsFlags are the flags of redline generators.
type generatorsFlags struct {
	rivals.Config
	out string
}

// newGenerators returns the command that compares load generators.
func newGenerators() *cobra.Command {
	var g generatorsFlags
	c := &cobra.Command{
		Use:   "generators",
		Short: "Compare the speed, the cost and the accuracy of load generators",
		Long: `Compare the speed, the cost and the accuracy of load generators.

Each tool makes the same loads, in random order, on one CPU against a server on
another. Rates are measured at the server: the bytes that its sockets sent within
a window in the middle of the run. The cost is the CPU time of the tool's processes
in that window. Then each tool loads a server that stalls, at a constant rate if the
tool supports one, and the response times that it reports are compared with those
that users would see, which are calculated.

Tools that are not installed are listed, and left out.`,
		Example: `  redline generators
  redline generators --tools redline,wrk --workloads plain,pipelined --rounds 10`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return g.run(c) },
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringSliceVar(&g.Tools, "tools", rivals.Names(), "generators to compare, comma-separated")
	f.StringSliceVar(&g.Workloads, "workloads", rivals.Workloads(), "workloads to run, comma-separated")
	f.IntVar(&g.Rounds, "rounds", 5, "runs of each tool with each load; the stalled workload runs once")
	f.DurationVar(&g.Window, "window", 5*time.Second, "measured time of a run")
	f.DurationVar(&g.Stall, "stall", 2*time.Second, "duration of the server's stall, in the middle of a run five times as long")
	f.IntVar(&g.Rate, "rate", 1000, "requests per second to the server that stalls")
	f.Uint64Var(&g.Seed, "seed", 0, "seed of the order of runs (default: random, recorded)")
	f.StringVar(&g.out, "out", "", "`DIR` for generators.json and generators.md (default: none)")
	return c
}

// newGeneratorsServe returns the command of the server process of redline generators.
func newGeneratorsServe() *cobra.Command {
	return &cobra.Command{
		Use: scripted.Verb, Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return scripted.Serve(args[0], os.Stdin, os.Stdout) },
	}
}

// run makes a comparison and prints it.
func (g *generatorsFlags) run(c *cobra.Command) error {
	if err := g.resolve(c); err != nil {
		return err
	}
	r, err := g.compare(c)
	switch {
	case c.Context().Err() != nil:
		return cli.ExitCode(130)
	case err != nil:
		return err
	}
	if err := g.save(c.OutOrStdout(), cli.ScreenOf(c, c.OutOrStdout()), r); err != nil {
		return err
	}
	if slices.ContainsFunc(r.Runs, func(r rivals.Run) bool { return r.Failed != "" }) {
		return cli.ExitCode(1) // the table lists it
	}
	return nil
}

// compare builds the server, and runs the comparison.
func (g *generatorsFlags) compare(c *cobra.Command) (r *rivals.Result, err error) {
	tmp, err := os.MkdirTemp("", "redline-generators-")
	if err != nil {
		return nil, fmt.Errorf("create a directory for the server: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if slices.ContainsFunc(g.Workloads, rivals.NeedsLimit) {
		dir, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		catalogue, err := suite.OpenCatalogue(dir, nil)
		if err != nil {
			return nil, err
		}
		if g.Limit, err = catalogue.Build(c.Context(), "limit", tmp); err != nil {
			return nil, err
		}
	}
	return rivals.Compare(c.Context(), g.Config, func(line string) { fmt.Fprintln(c.ErrOrStderr(), line) })
}

// resolve validates the flags, and sets the defaults.
func (g *generatorsFlags) resolve(c *cobra.Command) (err error) {
	for _, x := range []struct {
		what         string
		given, known []string
	}{{"tool", g.Tools, rivals.Names()}, {"workload", g.Workloads, rivals.Workloads()}} {
		if len(x.given) == 0 {
			return cli.Usage("no %s is named: write --%ss %s", x.what, x.what, strings.Join(x.known, ","))
		}
		for _, name := range x.given {
			if !slices.Contains(x.known, name) {
				return cli.Misuse(&suite.UnknownError{What: x.what, Name: name, Known: x.known})
			}
		}
	}
	switch {
	case g.Rounds < 1:
		return cli.Usage("--rounds %d: want at least 1", g.Rounds)
	case g.Window < 100*time.Millisecond:
		return cli.Usage("--window %v: want at least 100ms", g.Window)
	case g.Stall < 100*time.Millisecond || g.Stall%(100*time.Millisecond) != 0:
		return cli.Usage("--stall %v: want at least 100ms, and tenths of a second", g.Stall)
	case g.Rate < 100 || g.Rate > 10000:
		return cli.Usage("--rate %d: want 100 to 10000", g.Rate)
	}
	if !c.Flags().Changed("seed") {
		g.Seed = rand.Uint64() >> 11 // exact in JSON
	}
	if g.out != "" {
		if err := os.MkdirAll(g.out, 0o755); err != nil {
			return fmt.Errorf("create the directory for the results: %w", err)
		}
	}
	g.Version = cli.Version()
	if g.Redline, err = os.Executable(); err != nil {
		return err
	}
	allowed, err := probe.Allowed()
	if err != nil {
		return err
	}
	if len(allowed) < 2 {
		return fmt.Errorf("this process may use %d CPU; the server and the generator need one each", len(allowed))
	}
	g.ServerCPUs, g.GeneratorCPUs = allowed[:1], allowed[len(allowed)-1:]
	return nil
}

// save prints the tables, and writes the files if requested.
func (g *generatorsFlags) save(w io.Writer, s screen.Screen, r *rivals.Result) error {
	show := r.Markdown
	if s.Width > 0 {
		show = func(w io.Writer) error { return r.Print(w, s) }
	}
	if err := show(w); err != nil {
		return err
	}
	if g.out == "" {
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	var tables bytes.Buffer
	if err := r.Markdown(&tables); err != nil {
		return err
	}
	if err := file.Write(filepath.Join(g.out, "generators.json"), append(text, '\n')); err != nil {
		return err
	}
	return file.Write(filepath.Join(g.out, "generators.md"), tables.Bytes())
}
