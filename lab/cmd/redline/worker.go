package main

import (
	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/load/command"
)

// newWorker is one of the generators of a load that another process leads.
func newWorker() *cobra.Command {
	var w command.Worker
	c := &cobra.Command{
		Use:   command.WorkerVerb,
		Short: "Be a worker of redline load --bus on another machine",
		Long: `Be a worker of redline load --bus on another machine.

It joins the run, makes its part of the load, and ends. The run's name and token,
which redline load prints, are taken from the environment: REDLINE_RUN and
REDLINE_TOKEN. So is the server, REDLINE_NATS, when --bus is left out.

Exit codes: 0 all well, 1 the run failed, 2 wrong usage, 130 interrupted.`,
		Example: `  REDLINE_RUN=... REDLINE_TOKEN=... redline worker --bus nats://10.0.0.1:4222
  taskset -c 3 redline worker --bus nats://10.0.0.1:4222 --name rack-7`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return w.Run(c.Context()) },
	}
	w.Bind(c.Flags())
	return c
}
