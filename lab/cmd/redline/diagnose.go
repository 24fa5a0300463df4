package main

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/diagnose/command"
)

// newDiagnose returns the command that names what limits a server.
func newDiagnose() *cobra.Command {
	var o command.Options
	c := &cobra.Command{
		Use:   "diagnose [URL] [-- COMMAND ...]",
		Short: "Name what limits a server, show the evidence, and try what can be tried",
		Long: `Name what limits a server, show the evidence, and try what can be tried.

The server is loaded with more and more connections until more bring no more, and
then looked at under three loads: a tenth of that, half, and the knee. Rules look
for known causes, estimate what removing each would gain, and say what to do. A
server that COMMAND starts is also tried with other settings, such as GOGC=400, in
interleaved blocks; a prediction that a trial refutes is struck out.

Stolen CPU time and other processes change rates and latencies, and not the causes:
a diagnosis on a busy machine says DISTURBED, and exits as any other.

Exit codes: 0 success, 1 nothing could be measured, 2 wrong usage, 3 a cause would
gain more than --fail-over, 4 the load was INVALID (wrong or missing answers, a
full or late generator, nothing seen of the server) or the diagnosis is not
complete, 130 interrupted.`,
		Example: `  redline diagnose http://127.0.0.1:8080/orders
  redline diagnose -X POST --body '{"sku":7}' --json report.json http://127.0.0.1:8080/orders
  redline diagnose --source . http://127.0.0.1:8080/orders -- ./shop -addr 127.0.0.1:8080
  redline diagnose --fail-over 0.1 http://127.0.0.1:8080/`,
		Args: func(c *cobra.Command, args []string) error {
			urls := len(args)
			if dash := c.ArgsLenAtDash(); dash >= 0 {
				urls = dash
			}
			if urls > 1 {
				return cli.Usage("name one URL, such as redline diagnose http://127.0.0.1:8080/, and after -- the command that starts the server; there are %d arguments", urls)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if dash := c.ArgsLenAtDash(); dash >= 0 {
				args, o.Command = args[:dash], args[dash:]
			}
			if err := checkOutputs(&o); err != nil {
				return err
			}
			console := command.Console{Out: c.OutOrStdout(), Err: c.ErrOrStderr(), Screen: cli.ScreenOf(c, c.OutOrStdout())}
			return command.Run(c.Context(), o, strings.Join(args, ""), c.Flags().Changed, console)
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.IntVarP(&o.Most, "most", "c", 256, "connections of the sweep, at most; later loads may have twice as many")
	f.DurationVarP(&o.Window, "window", "d", 3*time.Second, "time of each of the three loads")
	f.DurationVar(&o.Step, "step", time.Second, "time of each run of the sweep")
	f.DurationVar(&o.Warmup, "warmup", 500*time.Millisecond, "time before each measurement")
	f.StringVar(&o.Control, "control", "", "control `SOCKET` of a Go service (docs/control.md)")
	f.StringVar(&o.PProf, "pprof", "", "`URL` of net/http/pprof of a Go service, such as http://127.0.0.1:6060")
	f.BoolVar(&o.Try, "trials", false, "try other numbers of connections, although the server runs already; one that COMMAND starts is always tried with other settings")
	f.BoolVar(&o.NoTry, "no-trials", false, "try nothing")
	f.StringVar(&o.Source, "source", "", "`DIR` of the server's sources, in Go: say which lines allocate, and why")
	f.StringVar(&o.JSON, "json", "", "write the report as JSON to `FILE`; - is standard output")
	f.StringVar(&o.Markdown, "markdown", "", "write the report as Markdown to `FILE`; - is standard output")
	f.StringVar(&o.HTML, "html", "", "write the report as a page, with the evidence, to `FILE`")
	f.StringVar(&o.Record, "record", "", "write all evidence, with stacks, to this `FILE`, for --from")
	f.StringVar(&o.From, "from", "", "judge the evidence that --record wrote to this `FILE`, without a server")
	f.Float64Var(&o.FailOver, "fail-over", 0, "exit with code 3 if a cause would gain more than this `SHARE`, such as 0.1")
	f.BoolVar(&o.Quiet, "quiet", false, "no progress")
	o.Load.BindOnly(f, []string{"Request", "Connections", "TLS and HTTP/2"}, "targets", "think", "seed", "pid", "cpu")
	return c
}

// checkOutputs refuses to overwrite what is read.
func checkOutputs(o *command.Options) (err error) {
	for _, out := range []struct{ flag, path string }{{"json", o.JSON}, {"markdown", o.Markdown}, {"html", o.HTML}, {"record", o.Record}} {
		err = errors.Join(err, cli.CheckOutput(out.flag, out.path, o.Control, o.From))
	}
	return err
}
