// Command redline measures HTTP servers: it loads them, compares them side by side,
// shows what on the machine disturbs a measurement, and renders reports.
//
// Exit codes: 0 for success, 1 when something was not measured, 2 for wrong usage, 3 when
// what was asked for does not hold, 4 when that is not decided, 130 when interrupted.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/redline-go/redline/lab/internal/redact"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
)

// otherTools lists verbs of other tools by the equivalent verb of redline.
var otherTools = map[string][]string{
	"load":    {"attack", "run", "hit", "start", "stress", "hammer"},
	"bench":   {"benchmark", "versus", "vs"},
	"compare": {"diff", "cmp", "benchstat"},
	"report":  {"show", "view", "render", "summary", "print"},
	"plot":    {"graph", "chart", "draw"},
	"env":     {"doctor", "check", "machine", "system", "info"},
	"worker":  {"agent", "node"},
	"profile": {"pprof", "flame", "flamegraph"},
	"watch":   {"top", "monitor", "observe", "stat"},
	"trace":   {"traces", "gotrace", "tracing"},
	"oom":     {"memory", "outofmemory", "oomkill"},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

// newRoot returns the command with all its verbs.
func newRoot(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:           "redline",
		Short:         "Measure HTTP servers",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       cli.Version(),
		Args:          cobra.ArbitraryArgs, // cli.NoVerb refuses them
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetArgs(args)
	root.SetFlagErrorFunc(cli.FlagError)
	root.SetHelpFunc(cli.Help(nil))
	cli.BindColor(root.PersistentFlags())
	root.AddCommand(newBench(), newLoad(), newReport(), newCompare(), newPlot(), newImport(), newEnv(), newWatch(), newDiagnose(), newProfile(), newBaseline(), newTrace(), newOOM())
	root.AddCommand(newWorker(), newGenerators(), newGenerate(), newGeneratorsServe(), newBackend(), newGuard())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	for name, others := range otherTools {
		if c, _, err := root.Find([]string{name}); err == nil {
			c.SuggestFor = others
		}
	}
	return root
}

// besides returns the errors that were joined to an exit code, which nothing has printed.
func besides(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var rest []error
		for _, one := range joined.Unwrap() {
			rest = append(rest, besides(one))
		}
		return errors.Join(rest...)
	}
	var code cli.ExitCode
	if errors.As(err, &code) {
		return nil
	}
	return err
}

func run(ctx context.Context, args []string) int {
	root := newRoot(args)
	err := cli.NoVerb(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if err == nil {
		return 0
	}
	var code cli.ExitCode
	if errors.As(err, &code) {
		if err = besides(err); err != nil {
			cli.PrintError(os.Stderr, cli.ScreenOf(root, os.Stderr), redact.Text(err.Error()))
		}
		return int(code)
	}
	cli.PrintError(os.Stderr, cli.ScreenOf(root, os.Stderr), redact.Text(err.Error()))
	var usage cli.UsageError
	if errors.As(err, &usage) {
		return 2
	}
	return 1
}
