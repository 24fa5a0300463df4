package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/load"
)

// newGenerate returns the command of the generator process.
func newGenerate() *cobra.Command {
	return &cobra.Command{
		Use: load.Verb, Hidden: true, Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			again, stop := cli.Again(c.Context())
			defer stop()
			return load.Serve(load.WithAgain(c.Context(), again), os.Stdin, os.Stdout)
		},
	}
}
