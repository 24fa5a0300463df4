package main

import (
	"errors"
	"testing"

	"github.com/redline-go/redline/lab/load/command"
	"github.com/redline-go/redline/lab/results"

	"github.com/redline-go/redline/lab/cli"
)

// TestBenchExitCodes checks the exit code of each outcome of a comparison.
func TestBenchExitCodes(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		file  results.File
		err   error
		allow bool
		want  error
	}{
		"success":             {results.File{Gates: []results.Gate{{Passed: true}}}, nil, false, nil},
		"invalid":             {results.File{Gates: []results.Gate{{Name: "invalid"}}}, nil, false, cli.ExitCode(command.ExitInvalid)},
		"invalid but allowed": {results.File{Gates: []results.Gate{{Name: "invalid"}}}, nil, true, nil},
		"a run failed":        {results.File{Runs: []results.Run{{Failed: "no"}}}, nil, true, cli.ExitCode(1)},
		"a version left out":  {results.File{Subjects: []results.Subject{{LeftOut: "too old"}}}, nil, true, cli.ExitCode(1)},
		"broken off":          {results.File{}, broken, true, broken},
	} {
		if err := verdict(t.Context(), &c.file, c.err, c.allow); err != c.want {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
