package main

import (
	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/backend"
	"github.com/redline-go/redline/lab/suite"
)

// newBackend is the process that services wait for, at the unix socket that is named.
func newBackend() *cobra.Command {
	return &cobra.Command{
		Use: suite.BackendVerb + " SOCKET", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return backend.Serve(c.Context(), args[0])
		},
	}
}
