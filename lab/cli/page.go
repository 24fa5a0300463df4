package cli

import (
	"bytes"
	"fmt"
	"io"

	"github.com/redline-go/redline/lab/internal/file"
)

// WritePage writes a page, which render makes, to a file: whole or not at all.
func WritePage(path string, render func(io.Writer) error) error {
	var page bytes.Buffer
	if err := render(&page); err != nil {
		return fmt.Errorf("render the page: %w", err)
	}
	if err := file.Write(path, page.Bytes()); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
