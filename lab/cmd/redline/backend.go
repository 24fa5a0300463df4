package main

import (
	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/backend"
	"github.com/redline-go/redline/lab/suite"
)

// newBackend returns the command of the backend process, which listens on a Unix socket.
func newBackend() *cobra.Command {
	var overHTTP bool
	c := &cobra.Command{
		Use: suite.BackendVerb + " SOCKET", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if overHTTP {
				return backend.ServeHTTP(c.Context(), args[0])
			}
			return backend.Serve(c.Context(), args[0])
		},
	}
	c.Flags().BoolVar(&overHTTP, suite.BackendHTTP, false, "answer HTTP/1.1 requests")
	return c
}
