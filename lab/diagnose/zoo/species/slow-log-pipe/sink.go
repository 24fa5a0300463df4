//go:build !twin

package main

import (
	"io"
	"os"
)

// sink is the pipe to the collector itself.
func sink(pipe *os.File) io.Writer { return pipe }
