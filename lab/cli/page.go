package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/redline-go/redline/lab/internal/file"
)

// Width is the width of a terminal, 0 of anything else.
func Width(w io.Writer) int {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	return 0
}

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
