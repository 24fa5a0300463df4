package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/load/drive"
	"github.com/redline-go/redline/lab/load/fleet"
	"github.com/redline-go/redline/lab/load/fleet/crew"
)

// newWorker is one of the generators that a load led by another process has.
func newWorker() *cobra.Command {
	var pipe bool
	c := &cobra.Command{
		Use:   drive.WorkerVerb,
		Short: "Be one of the workers of redline load --workers",
		Args:  cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if !pipe {
				return errors.New("--bus")
			}
			w := fleet.Worker{Index: -1, Generate: crew.Generate}
			return w.Work(c.Context(), fleet.Pipe(c.Context(), os.Stdin, os.Stdout))
		},
	}
	c.Flags().BoolVar(&pipe, drive.Pipe, false, "be led over standard input and output")
	if err := c.Flags().MarkHidden(drive.Pipe); err != nil {
		panic(err) // there is no such flag
	}
	return c
}
