package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/guard"
)

// newGuard returns the command of the process that undoes the changes of another command
// that could not do so itself.
func newGuard() *cobra.Command {
	return &cobra.Command{
		Use: guard.Verb, Hidden: true, Args: cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if code := guard.Main(os.Stdin); code != 0 {
				return cli.ExitCode(code)
			}
			return nil
		},
	}
}
