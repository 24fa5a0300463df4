package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/oom/command"
)

// newOOM returns the command that tries a server with little memory.
func newOOM() *cobra.Command {
	var o command.Options
	c := &cobra.Command{
		Use:   "oom [URL] -- COMMAND ...",
		Short: "Raise the load of a server with little memory, and see what gives way first",
		Long: `Raise the load of a server with little memory, and see what gives way first.

COMMAND is started in a control group of its own, whose memory is bounded and has
no swap. The load is raised step by step until the kernel kills, or the last step
is over. The report says at which load and with how much memory the server died,
whether latency, garbage collection or errors gave way before, and which process
the kernel chose. Only processes of COMMAND are in the group, and it is removed
at the end. That needs root; GOMEMLIMIT alone does not, with --no-group.

Exit codes: 0 it held, 3 it died, 4 INVALID: the load was not as asked (a
machine that is disturbed is none of that), 1 nothing was measured, 2 wrong usage, 130 interrupted.`,
		Example: `  redline oom http://127.0.0.1:8080/ -- ./server -addr 127.0.0.1:8080
  redline oom --limit 256MiB --gomemlimit 90% http://127.0.0.1:8080/ -- ./server
  redline oom --limit 256MiB --grow-body 64KiB --steps 6 http://127.0.0.1:8080/upload -- ./server
  redline oom --no-group --gomemlimit 64MiB http://127.0.0.1:8080/ -- ./server`,
		Args: func(c *cobra.Command, args []string) error {
			urls := len(args)
			if dash := c.ArgsLenAtDash(); dash >= 0 {
				urls = dash
			}
			if urls > 1 {
				return cli.Usage("name one URL, and after -- the command that starts the server; there are %d arguments", urls)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if dash := c.ArgsLenAtDash(); dash >= 0 {
				args, o.Command = args[:dash], args[dash:]
			}
			if err := cli.CheckOutput("json", o.JSON); err != nil {
				return err
			}
			o.Adjust = c.Flags().Changed("oom-score-adj")
			console := command.Console{Out: c.OutOrStdout(), Err: c.ErrOrStderr(), Screen: cli.ScreenOf(c, c.OutOrStdout())}
			return command.Run(c.Context(), o, strings.Join(args, ""), c.Flags().Changed, console)
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&o.Limit, "limit", "", "`SIZE` of the memory of the group (default: four times the resident memory after the start)")
	f.Float64Var(&o.Headroom, "headroom", 4, "without --limit, this multiple of the resident memory after the start")
	f.StringVar(&o.GoMemLimit, "gomemlimit", "", "GOMEMLIMIT of a Go server: a `SIZE`, or a share of the limit, as 90%")
	f.BoolVar(&o.NoGroup, "no-group", false, "no control group, only GOMEMLIMIT: redline ends the server at twice its size")
	f.IntVar(&o.ScoreAdj, "oom-score-adj", 0, "oom_score_adj of the command and what it starts, from -1000 to 1000")
	f.BoolVar(&o.Again, "again", false, "a run without --oom-score-adj, then one with it, and what it changed")
	f.IntVar(&o.Steps, "steps", 7, "steps of the load")
	f.IntVar(&o.First, "first", 8, "connections of the first step")
	f.IntVarP(&o.Most, "most", "c", 512, "connections of the last step; those between grow by one factor")
	f.Float64VarP(&o.Rate, "rate", "r", 0, "`RATE` of the first step of an open loop, in requests a second; it doubles with each step (default: closed loops)")
	f.StringVar(&o.Body, "grow-body", "", "`SIZE` of the generated body of each request in the first step; it doubles with each step")
	f.DurationVarP(&o.Step, "step", "d", 3*time.Second, "time of each step")
	f.Float64Var(&o.Thresholds.Latency, "latency", 5, "latency gives way when p99 is this multiple of that of the first step")
	f.Float64Var(&o.Thresholds.GC, "gc", 0.5, "garbage collection gives way when it takes more than this share of the program's CPU time")
	f.Float64Var(&o.Thresholds.Errors, "errors", 0.01, "requests give way when more than this share fails")
	f.StringVar(&o.JSON, "json", "", "write the report as JSON to `FILE`; - is standard output")
	f.BoolVar(&o.Quiet, "quiet", false, "no progress")
	o.Load.BindOnly(f, []string{"Request", "Users", "Connections", "TLS and HTTP/2"}, "cpu")
	return c
}
