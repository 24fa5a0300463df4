//go:build !twin

package main

import (
	"io"
	"os"
)

// record logs a record.
func (i *importer) record(what, sku string) { i.log.Print(what, sku) }

// output is where the log is written.
func output(file *os.File) io.Writer { return file }
