//go:build !twin

package main

import (
	"html/template"
	"io"
)

// render writes a page.
func render(w io.Writer, p Page) error {
	t, err := template.New("page").Parse(layout)
	if err != nil {
		return err
	}
	return t.Execute(w, p)
}
