package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/profile/command"
	"github.com/redline-go/redline/lab/profile/rules"
)

// newBaseline returns the commands that keep the costs of functions, and compare with them.
func newBaseline() *cobra.Command {
	c := &cobra.Command{
		Use:   "baseline",
		Short: "Keep what each function of a server costs, and find what became more expensive",
		Long: `Keep what each function of a server costs, and find what became more expensive.

A baseline is a series of profiles, with the cost of a request for each function and
purpose. A comparison measures again and says what moved beyond noise.`,
		Example: `  redline baseline save main --pprof http://127.0.0.1:6060 --load http://127.0.0.1:8080/
  redline baseline compare main --pprof http://127.0.0.1:6060 --load http://127.0.0.1:8080/ --limit 5`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.Usage("unknown command %q of redline baseline; write save, compare, list, remove or rules", args[0])
			}
			return c.Help()
		},
	}
	c.AddCommand(newBaselineSave(), newBaselineCompare(), newBaselineList(), newBaselineRemove(), newBaselineRules())
	return c
}

// oneName returns the name and the files of a baseline verb, and sets its command.
func oneName(c *cobra.Command, b *command.Baseline, args []string) (name string, files []string, err error) {
	if args, b.Target.Command = split(c, args); len(args) == 0 {
		return "", nil, cli.Usage("name the baseline, such as %s main", c.CommandPath())
	}
	return args[0], args[1:], nil
}

var measureGroup = cli.Group{Title: "Baseline", Flags: "windows limit with rules json dir"}

func newBaselineSave() *cobra.Command {
	var b command.Baseline
	c := &cobra.Command{
		Use:   "save NAME [flags] [FILE ... | -- COMMAND ...]",
		Short: "Measure a server in repeated windows, and keep the cost of each function",
		Long: `Measure a server in repeated windows, and keep the cost of each function.

Each window is a profile of its own. With --load the cost is that of a request; else it
is a share of the total. A COMMAND is started anew for each window. Each FILE with a
profile is a window.`,
		Example: `  redline baseline save main --pprof http://127.0.0.1:6060 --kind cpu,allocs --load http://127.0.0.1:8080/
  redline baseline save main --pprof http://127.0.0.1:6060 --load http://127.0.0.1:8080/ -- ./server`,
		RunE: func(c *cobra.Command, args []string) error {
			name, files, err := oneName(c, &b, args)
			if err != nil {
				return err
			}
			return b.Save(c.Context(), name, files, consoleOf(c))
		},
	}
	b.BindWindows(c.Flags())
	b.Target.BindLoad(c.Flags())
	c.SetHelpFunc(cli.Help(b.Target.Groups(measureGroup)))
	return c
}

func newBaselineCompare() *cobra.Command {
	var b command.Baseline
	c := &cobra.Command{
		Use:   "compare NAME [flags] [FILE ... | -- COMMAND ...]",
		Short: "Measure again, and say which functions cost more or less than in a baseline",
		Long: `Measure again, and say which functions cost more or less than in a baseline.

A function moved if the rank sum test finds a difference, corrected for all functions
(Benjamini and Hochberg) and all purposes (Holm). It is a regression if its whole
interval is beyond --limit.

Exit codes: 0 no regression, 1 something could not be measured, 2 wrong usage, 3 a
regression, 130 interrupted.`,
		Example: `  redline baseline compare main --pprof http://127.0.0.1:6060 --load http://127.0.0.1:8080/ --limit 3
  redline baseline compare main --with feature`,
		RunE: func(c *cobra.Command, args []string) error {
			name, files, err := oneName(c, &b, args)
			if err != nil {
				return err
			}
			return b.Compare(c.Context(), name, files, consoleOf(c))
		},
	}
	b.BindWindows(c.Flags())
	b.BindCompare(c.Flags())
	b.Target.BindLoad(c.Flags())
	c.SetHelpFunc(cli.Help(b.Target.Groups(measureGroup)))
	return c
}

func newBaselineList() *cobra.Command {
	var b command.Baseline
	c := &cobra.Command{
		Use: "list", Short: "List the baselines", Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return b.List(consoleOf(c)) },
	}
	b.BindDir(c.Flags())
	return c
}

func newBaselineRemove() *cobra.Command {
	var b command.Baseline
	c := &cobra.Command{
		Use: "remove NAME ...", Short: "Remove baselines",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage("name the baseline to remove; %s list shows all", c.Parent().CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return b.Remove(args, consoleOf(c)) },
	}
	b.BindDir(c.Flags())
	return c
}

func newBaselineRules() *cobra.Command {
	return &cobra.Command{
		Use: "rules", Short: "Print the built-in rules, to be changed and named with --rules", Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(c.OutOrStdout(), rules.Builtin)
			return err
		},
	}
}
