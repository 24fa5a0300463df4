package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/redline-go/redline/lab/internal/file"
)

// Width returns the width of a terminal in columns, 0 for anything else.
func Width(w io.Writer) int {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	return 0
}

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
