//go:build !twin

package main

import (
	"io"
	"os"
)

// output is where the log is written.
func output(file *os.File) io.Writer { return file }
