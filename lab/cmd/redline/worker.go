package main

import (
	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/load/command"
)

// newWorker returns the command of a generator that another process coordinates.
func newWorker() *cobra.Command {
	var w command.Worker
	c := &cobra.Command{
		Use:   command.WorkerVerb,
		Short: "Run a worker of redline load --bus on another machine",
		Long: `Run a worker of redline load --bus on another machine.

It joins the run, generates its share of the load, and ends. The environment holds
the run's name and token, which redline load prints: REDLINE_RUN and REDLINE_TOKEN.
Without --bus it also holds the NATS server: REDLINE_NATS.

Exit codes: 0 success, 1 the run failed, 2 wrong usage, 130 interrupted.`,
		Example: `  REDLINE_RUN=... REDLINE_TOKEN=... redline worker --bus nats://10.0.0.1:4222
  taskset -c 3 redline worker --bus nats://10.0.0.1:4222 --name rack-7`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return w.Run(c.Context()) },
	}
	w.Bind(c.Flags())
	return c
}
