package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/watch/command"
)

// newWatch returns the command that watches a server process.
func newWatch() *cobra.Command {
	var o command.Options
	c := &cobra.Command{
		Use:   "watch [flags] [-- COMMAND ...]",
		Short: "Watch a server process: CPU, memory, descriptors, TCP, control group, Go runtime",
		Long: `Watch a server process: CPU, memory, descriptors, TCP, control group and, of a
Go service, its runtime.

The process is named by --pid, found by its control socket or its pprof URL, or
started: COMMAND ends with the watch. Marks are thresholds on the figures; those
that were crossed are shown, and are in the summary. docs/watch.md lists all
figures with their sources.

Exit codes: 0 if the watch ended as asked, 3 if the process ended, that of COMMAND
if it ended, 130 if a watch with --for was interrupted. Marks do not change them.`,
		Example: `  redline watch --pid 1234
  redline watch --control /run/shop/control --for 30s --json watch.json
  redline watch --pid 1234 --for 1m --html watch.html
  redline watch --pprof http://127.0.0.1:6060 --mark rss-slope=5
  redline watch --tree -- ./server -addr :8080`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 && c.ArgsLenAtDash() != 0 {
				return cli.Usage("%s: to start a command and watch it, write: redline watch -- %[1]s; to watch a process, --pid", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.Command = args
			for flag, path := range map[string]string{"json": o.JSON, "html": o.HTML} {
				if err := cli.CheckOutput(flag, path, o.Control); err != nil {
					return err
				}
			}
			return command.Run(c.Context(), o, command.Console{Out: c.OutOrStdout(), Err: c.ErrOrStderr(), Screen: cli.ScreenOf(c, c.OutOrStdout())})
		},
	}
	f := c.Flags()
	f.SortFlags = false
	f.IntVar(&o.PID, "pid", 0, "`PID` of the process")
	f.BoolVar(&o.Tree, "tree", false, "watch its children too, and add them up")
	f.StringVar(&o.Control, "control", "", "control `SOCKET` of a Go service (docs/control.md)")
	f.StringVar(&o.PProf, "pprof", "", "`URL` of net/http/pprof of a Go service, such as http://127.0.0.1:6060")
	f.DurationVar(&o.Every, "every", 200*time.Millisecond, "time between two samples")
	f.DurationVar(&o.For, "for", 0, "end after this time (default: at Ctrl-C, or when the process ends)")
	f.StringVar(&o.JSON, "json", "", "write JSON lines to `FILE`; - is standard output, which has them without this flag if it is no terminal")
	f.StringVar(&o.HTML, "html", "", "write a page with charts to this `FILE` when the watch ends")
	f.StringVar(&o.Prometheus, "prometheus", "", "serve metrics at http://`ADDR`/metrics")
	f.BoolVar(&o.NoBPF, "no-bpf", false, "without system calls, peers and waits of threads, which eBPF counts (needs root)")
	f.BoolVar(&o.Exact, "exact", false, "count every event by eBPF: a busy server pays some percent of its CPU time; else sends, waits and times are sampled then")
	f.StringArrayVar(&o.Marks, "mark", nil, "change the limit of a mark, `NAME=VALUE`, or remove it, NAME=off; may be repeated")
	return c
}
