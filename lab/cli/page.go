package cli

import (
	"bytes"
	"fmt"
	"io"

	"github.com/redline-go/redline/lab/internal/file"
)

// WritePage writes the output of render to a file with [file.Write]: completely or not at
// all.
func WritePage(path string, render func(io.Writer) error) error {
	var page bytes.Buffer
	if err := render(&page); err != nil {
		return fmt.Errorf("render page: %w", err)
	}
	if err := file.Write(path, page.Bytes()); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}
