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
	"github.com/redline-go/redline/lab/generators"
	"github.com/redline-go/redline/lab/generators/scripted"
	"github.com/redline-go/redline/lab/internal/file"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/suite"
)

// generatorsFlags is the command line of the verb generators.
type generatorsFlags struct {
	generators.Config
	out string
}

// newGenerators compares load generators.
func newGenerators() *cobra.Command {
	var g generatorsFlags
	c := &cobra.Command{
		Use:   "generators",
		Short: "Compare load generators: how fast, at what cost, and how true",
		Long: `Compare load generators: how fast, at what cost, and how true.

Each tool makes the same loads, in random order, on one CPU against a server on
another. Rates are those of the server: what its sockets sent in a window in the
middle of the run, and what the tool's processes used in it. Then each tool with
a constant rate meets a server that stalls, and what it says of response times
is held against what users would see, which is calculated.

Tools that are not installed are named, and left out.`,
		Example: `  redline generators
  redline generators --tools redline,wrk --workloads plain,pipelined --rounds 10`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return g.run(c) },
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringSliceVar(&g.Tools, "tools", generators.Names(), "what to compare, comma-separated")
	f.StringSliceVar(&g.Workloads, "workloads", generators.Workloads(), "what to ask of them, comma-separated")
	f.IntVar(&g.Rounds, "rounds", 5, "how often each tool makes each load; the server that stalls is met once")
	f.DurationVar(&g.Window, "window", 5*time.Second, "measured time of a run")
	f.DurationVar(&g.Stall, "stall", 2*time.Second, "of the server that stalls, in the middle of five times as long")
	f.IntVar(&g.Rate, "rate", 1000, "requests a second to it")
	f.Uint64Var(&g.Seed, "seed", 0, "of the order (default: random, recorded)")
	f.StringVar(&g.out, "out", "", "`DIR` for generators.json and generators.md (default: none)")
	return c
}

// newGeneratorsServe is the server process of the verb generators.
func newGeneratorsServe() *cobra.Command {
	return &cobra.Command{
		Use: scripted.Verb, Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return scripted.Serve(args[0], os.Stdin, os.Stdout) },
	}
}

// run carries out a comparison and shows it.
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
	if err := g.save(c.OutOrStdout(), r); err != nil {
		return err
	}
	if slices.ContainsFunc(r.Runs, func(r generators.Run) bool { return r.Failed != "" }) {
		return cli.ExitCode(1) // named in the table
	}
	return nil
}

// compare builds the server, and compares.
func (g *generatorsFlags) compare(c *cobra.Command) (r *generators.Result, err error) {
	tmp, err := os.MkdirTemp("", "redline-generators-")
	if err != nil {
		return nil, fmt.Errorf("create a directory for the server: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if slices.ContainsFunc(g.Workloads, generators.NeedsLimit) {
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
	return generators.Compare(c.Context(), g.Config, func(line string) { fmt.Fprintln(c.ErrOrStderr(), line) })
}

// resolve checks the flags, and fills in what they leave open.
func (g *generatorsFlags) resolve(c *cobra.Command) (err error) {
	for _, x := range []struct {
		what         string
		given, known []string
	}{{"tool", g.Tools, generators.Names()}, {"workload", g.Workloads, generators.Workloads()}} {
		if len(x.given) == 0 {
			return cli.Usage("no %s is named: --%ss %s", x.what, x.what, strings.Join(x.known, ","))
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

// save prints the tables, and writes the files if they are asked for.
func (g *generatorsFlags) save(w io.Writer, r *generators.Result) error {
	if err := r.Markdown(w); err != nil {
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
