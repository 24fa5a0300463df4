package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/load/command"
)

// newLoad returns the command that loads a server.
func newLoad() *cobra.Command {
	var flags command.Flags
	c := &cobra.Command{
		Use:   "load [URL]",
		Short: "Load a server, and check whether the results are valid",
		Long: `Load a server, and check whether the results are valid.

Without --rate the load is a closed loop: each connection sends its next request
when the last one is answered, and the server determines the rate. With --rate,
--stages or --find it is an open loop: requests are due at fixed times whatever the
server does, and latency is measured from when a request was due. Reasons to doubt
the results are printed first. With --targets a file describes the requests; the URL
is then optional, and is the base of the file's paths.

A disturbance of the machine makes latencies longer and rates lower: a threshold
that was kept in spite of it is kept, and one that was not is undecided.

Exit codes: 0 success, 1 nothing could be measured, 2 wrong usage, 3 a threshold
is broken or --find found no rate, 4 the run is INVALID, or a threshold is
undecided and none is broken, 130 interrupted.`,
		Example: `  redline load http://127.0.0.1:8080/
  redline load -c 200 -d 30s --json run.json --html run.html http://127.0.0.1:8080/
  redline load -r 5000 --arrivals poisson --threshold 'p99<10ms,errors<0.1%' http://127.0.0.1:8080/
  redline load --stages 30s:1000,60s:5000 --burst 1.5x/10s http://127.0.0.1:8080/
  redline load --find 'p99<10ms,errors<0.1%' http://127.0.0.1:8080/
  redline load --targets shop.yaml --try
  redline load --targets shop.yaml -c 500 --think lognormal:1s,0.8 --threshold 'pay: p99<50ms'`,
		Args: oneURL,
		RunE: func(c *cobra.Command, args []string) error { return flags.Run(c, strings.Join(args, "")) },
	}
	flags.Bind(c.Flags())
	c.SetHelpFunc(cli.Help(command.Groups))
	return c
}

// oneURL refuses more than one argument. The flags determine whether one is required.
func oneURL(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return cli.Usage("name one URL, such as redline load http://127.0.0.1:8080/; there are %d arguments", len(args))
	}
	return nil
}
