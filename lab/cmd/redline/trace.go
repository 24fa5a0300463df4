package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/trace"
	"github.com/redline-go/redline/lab/trace/command"
)

// newTrace returns the command that reads execution traces.
func newTrace() *cobra.Command {
	var o command.Options
	c := &cobra.Command{
		Use:   "trace [flags] [FILE | -- COMMAND ...]",
		Short: "Read an execution trace of a Go service: waits, system calls, collections, slow requests",
		Long: `Read an execution trace of a Go service: how long goroutines waited for a P and
why, which system calls lost their P, what the garbage collector did, what
goroutines blocked on, and where the slowest requests spent their time.

The trace is a FILE, or is taken from net/http/pprof or a control socket, under a
load if --load names a URL. COMMAND is started before, and ended afterwards.
Requests are runtime/trace tasks and regions, and those of net/http servers.
docs/trace.md explains the figures.

Exit codes: 0 success, 1 no trace could be read, 2 wrong usage, 3 the trace could
be read only in part, 130 interrupted.`,
		Example: `  redline trace --pprof http://127.0.0.1:6060 --for 5s --html trace.html
  redline trace --control /run/shop/control --load http://127.0.0.1:8080/ --rate 2000
  redline trace --pprof http://127.0.0.1:6060 --save shop.trace -- ./shop -addr :8080
  redline trace --json - shop.trace`,
		Args: func(c *cobra.Command, args []string) error {
			if dash := c.ArgsLenAtDash(); dash > 0 || dash < 0 && len(args) > 1 {
				return cli.Usage("%s: name one file, or write a command to start after --", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if c.ArgsLenAtDash() == 0 {
				o.Command = args
			} else if len(args) == 1 {
				o.File = args[0]
			}
			return command.Run(c.Context(), o, command.Console{Out: c.OutOrStdout(), Err: c.ErrOrStderr(), Screen: cli.ScreenOf(c, c.OutOrStdout())})
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&o.PProf, "pprof", "", "take a trace from this `URL` of net/http/pprof, such as http://127.0.0.1:6060")
	f.StringVar(&o.Control, "control", "", "take a trace from this control `SOCKET` of a Go service (docs/control.md)")
	f.DurationVar(&o.For, "for", 5*time.Second, "time that the trace covers, in whole seconds, up to 1m")
	f.BoolVar(&o.Samples, "samples", true, "with --pprof, take a CPU profile too: its samples name what ran")
	f.BoolVar(&o.Handlers, "handlers", false, "name the handlers of all requests of net/http, from outside; needs root or CAP_PERFMON and CAP_SYS_PTRACE,\nand costs the server some microseconds a request")
	f.IntVar(&o.PID, "pid", 0, "`PID` of the server that --handlers looks at, unless COMMAND starts it")
	f.StringVar(&o.Load.URL, "load", "", "load this `URL` while the trace is taken, and one second before and after")
	f.StringVar(&o.Load.Rate, "rate", "", "`RATE` of the load, as in redline load (default: a closed loop)")
	f.IntVar(&o.Load.Connections, "connections", 0, "connections of the load (default: as in redline load)")
	f.StringVar(&o.Save, "save", "", "keep the trace in this `FILE`; go tool trace reads it too")
	f.StringVar(&o.JSON, "json", "", "write the report as JSON to this `FILE`; - is standard output")
	f.StringVar(&o.HTML, "html", "", "write a page with charts to this `FILE`")
	f.Int64Var(&o.Memory, "memory", trace.DefaultMemory>>20, "`MIB` that a second of the trace may need")
	f.Int64Var(&o.Largest, "largest", 2048, "`MIB` that a trace that is taken may have")
	return c
}
