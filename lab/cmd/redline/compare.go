package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/internal/file"
	"github.com/redline-go/redline/lab/load/command"
	"github.com/redline-go/redline/lab/load/compare"
	"github.com/redline-go/redline/lab/load/present"
)

// newCompare returns the command that compares two load runs.
func newCompare() *cobra.Command {
	var f compareFlags
	c := &cobra.Command{
		Use:   "compare A.json B.json",
		Short: "Show what changed from one load run to another",
		Long: `Show what changed from one load run to another.

A.json and B.json were written by redline load --json. A change is B's figure divided
by A's, with a 95 % confidence interval from the time slices of both runs, resampled
in blocks because neighbouring slices are alike. A change of less than 2 % is never
reported as one. The interval does not include the variation between runs: make two
runs of A and compare them first.

Exit codes: 0 success, 2 wrong usage or runs with different settings, 3 a limit is
broken, 4 a run is INVALID or DISTURBED and there are limits, none of them broken.`,
		Example: `  redline load -d 30s --json before.json http://127.0.0.1:8080/
  redline load -d 30s --json after.json http://127.0.0.1:8080/
  redline compare before.json after.json
  redline compare --threshold 'p99<+10%,cpu<+5%,rate>-3%,errors<+0' before.json after.json`,
		Args: func(_ *cobra.Command, args []string) error {
			switch len(args) {
			case 2:
				return nil
			case 1:
				return cli.Usage("name two runs, such as redline compare before.json after.json; there is 1 argument")
			default:
				return cli.Usage("name two runs, such as redline compare before.json after.json; there are %d arguments", len(args))
			}
		},
		RunE: f.run,
	}
	c.Flags().StringArrayVar(&f.limits, "threshold", nil, "exit with code 3 when a change exceeds this `LIMIT`, such as 'p99<+10%,errors<+0'; may be repeated")
	c.Flags().StringVar(&f.percentiles, "percentiles", "", "`LIST` of those that are compared, as 50,75,99.9 (default: 50,90,95,99, and those of limits)")
	c.Flags().BoolVar(&f.anyway, "anyway", false, "compare runs that have different settings, or are INVALID or DISTURBED")
	c.Flags().StringVar(&f.json, "json", "", "write the whole comparison as JSON to this `FILE`; - is standard output, instead of the text")
	return c
}

type compareFlags struct {
	limits      []string
	percentiles string
	anyway      bool
	json        string
}

func (f *compareFlags) run(c *cobra.Command, args []string) error {
	var limits []compare.Limit
	for _, text := range f.limits {
		list, err := compare.ParseLimits(text)
		if err != nil {
			return cli.Usage("--threshold %v", err)
		}
		limits = append(limits, list...)
	}
	if err := cli.CheckOutput("json", f.json, args...); err != nil {
		return err
	}
	percents, err := percentilesOf(c, f.percentiles)
	if err != nil {
		return err
	}
	var runs [2]*present.Document
	for i, path := range args {
		d, err := present.Load(path)
		if err != nil {
			return cli.Misuse(err)
		}
		runs[i] = d
	}
	if list := compare.Differences(runs[0], runs[1]); len(list) > 0 && !f.anyway {
		return cli.Usage("the runs have different settings, which a change would reflect:\n  %s\nrepeat one with the settings of the other, or write --anyway", strings.Join(list, "\n  "))
	}
	result := compare.Of(runs[0], runs[1], compare.Percents(percents, limits)...)
	result.A.File, result.B.File = args[0], args[1]
	result.Judge(limits)
	if err := f.write(c, result); err != nil {
		return err
	}
	switch {
	case !result.Kept():
		return cli.ExitCode(command.ExitBroken)
	case len(limits) > 0 && !result.Valid() && !f.anyway:
		return cli.ExitCode(command.ExitInvalid)
	}
	return nil
}

// write prints the text, or the JSON to standard output, and saves the JSON.
func (f *compareFlags) write(c *cobra.Command, result *compare.Comparison) error {
	switch f.json {
	case "":
	case "-":
		return result.Encode(c.OutOrStdout())
	default:
		var text bytes.Buffer
		if err := result.Encode(&text); err != nil {
			return err
		}
		if err := file.Write(f.json, text.Bytes()); err != nil {
			return fmt.Errorf("save the comparison: %w", err)
		}
	}
	return result.Print(c.OutOrStdout(), cli.ScreenOf(c, c.OutOrStdout()))
}
