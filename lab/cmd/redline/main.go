// Command redline measures HTTP servers: it loads them, compares them side by side,
// shows what on the machine disturbs a measurement, and renders reports.
//
// Exit codes: 0 for success, 1 when something was not measured, 2 for wrong usage,
// 130 when interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/redline-go/redline/lab/internal/redact"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

func run(ctx context.Context, args []string) int {
	root := &cobra.Command{
		Use:           "redline",
		Short:         "Measure HTTP servers",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       cli.Version(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.Usage("unknown command %q; see redline --help", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetArgs(args)
	root.SetFlagErrorFunc(cli.FlagError)
	root.AddCommand(newBench(), newLoad(), newReport(), newCompare(), newPlot(), newImport(), newEnv())
	root.AddCommand(newWorker(), newGenerators(), newGenerate(), newGeneratorsServe(), newBackend(), newGuard())
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var code cli.ExitCode
	if errors.As(err, &code) {
		return int(code)
	}
	fmt.Fprintln(os.Stderr, "redline:", redact.Text(err.Error()))
	var usage cli.UsageError
	if errors.As(err, &usage) {
		return 2
	}
	return 1
}
