package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/load/command"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/suite"

	"github.com/redline-go/redline/lab/cli"
)

// TestBenchExitCodes checks the exit code of each outcome of a comparison.
func TestBenchExitCodes(t *testing.T) {
	broken := errors.New("broken")
	undecided := cli.ExitCode(command.ExitInvalid)
	stolen := results.Run{Counted: true, Valid: true, Gates: []results.Gate{{Name: "steal", Disturbance: true}}}
	wrong := results.File{Gates: []results.Gate{{Name: "answers"}}}
	few := results.File{Gates: []results.Gate{{Name: "pairs", Disturbance: true}}}
	disturbed := results.File{Gates: []results.Gate{{Passed: true}}, Runs: []results.Run{stolen}}
	tenth := results.File{Runs: append(slices.Repeat([]results.Run{{Counted: true}}, 9), stolen)}
	for name, c := range map[string]struct {
		file  results.File
		err   error
		flags benchFlags
		want  error
	}{
		"success":                {results.File{Gates: []results.Gate{{Passed: true}}}, nil, benchFlags{}, nil},
		"wrong answers":          {wrong, nil, benchFlags{}, undecided},
		"too few pairs":          {few, nil, benchFlags{}, undecided},
		"the same, allowed":      {few, nil, benchFlags{allowInvalid: true}, nil},
		"decided when disturbed": {disturbed, nil, benchFlags{}, nil},
		"a tenth, strict":        {tenth, nil, benchFlags{strict: true}, nil},
		"the same, strict":       {disturbed, nil, benchFlags{strict: true}, undecided},
		"undisturbed, strict":    {results.File{Runs: []results.Run{{Counted: true}}}, nil, benchFlags{strict: true}, nil},
		"a run failed":           {results.File{Runs: []results.Run{{Failed: "no"}}}, nil, benchFlags{allowInvalid: true}, cli.ExitCode(1)},
		"a version left out":     {results.File{Subjects: []results.Subject{{LeftOut: "too old"}}}, nil, benchFlags{allowInvalid: true}, cli.ExitCode(1)},
		"broken off":             {results.File{}, broken, benchFlags{}, broken},
	} {
		if err := c.flags.verdict(t.Context(), &c.file, c.err); err != c.want {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestBudgetShortensWindows fits the windows to a budget that was given, unless they were given too.
func TestBudgetShortensWindows(t *testing.T) {
	for args, want := range map[string]bool{
		"":                                      false,
		"--workloads json":                      false,
		"--workloads json --budget 8m":          true,
		"--workloads json --budget 8m --seed 1": true,
		"--workloads json --budget 8m --window 5s": false,
		"--workloads json --budget 8m --warmup 2s": false,
		"--workloads json --budget 8m --blocks 10": false,
		"--full --budget 1h":                       true,
	} {
		b := new(benchFlags)
		c := b.command()
		if err := c.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		if b.mode(c.Flags().Changed); b.Fit != want {
			t.Errorf("%s: %v, want %v", args, b.Fit, want)
		}
	}
}

// TestDisplayWaits says what a run waits for.
func TestDisplayWaits(t *testing.T) {
	step := suite.Step{Phase: "run", Subject: "nethttp", Workload: "at25", Block: 3, Blocks: 9, Total: 10, Note: "waiting for other processes: 42 % of the CPUs"}
	var out strings.Builder
	newDisplay(&out, screen.Screen{Width: 100, Rewrites: true}, false).show(step)
	if want := "block 3/9  at25  waiting for other processes: 42 % of the CPUs"; !strings.Contains(out.String(), want) {
		t.Errorf("%q lacks %q", out.String(), want)
	}
	step.Phase = "ceiling"
	out.Reset()
	newDisplay(&out, screen.Screen{}, false).show(step)
	if want := "maximum rate of nethttp  waiting for other processes: 42 % of the CPUs\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
