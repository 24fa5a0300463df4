package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/load"
	"github.com/redline-go/redline/lab/load/spec"
)

// newGenerate returns the command of the generator process: it reads a spec.Spec from
// standard input and writes spec.Events to standard output, one per line.
func newGenerate() *cobra.Command {
	return &cobra.Command{
		Use: load.Verb, Hidden: true, Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var order spec.Spec
			if err := json.NewDecoder(os.Stdin).Decode(&order); err != nil {
				return fmt.Errorf("read the generator's specification: %w", err)
			}
			out := bufio.NewWriter(os.Stdout)
			enc := json.NewEncoder(out)
			var broken error
			again, stop := cli.Again(c.Context())
			defer stop()
			err := load.Run(load.WithAgain(c.Context(), again), &order, func(e spec.Event) {
				if err := enc.Encode(e); err != nil {
					broken = err
				} else if err := out.Flush(); err != nil {
					broken = err
				}
			})
			if err == nil {
				err = broken
			}
			return err
		},
	}
}
