package main

import (
	"errors"
	"slices"
	"testing"

	"github.com/redline-go/redline/lab/load/command"
	"github.com/redline-go/redline/lab/results"

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
