//go:build twin

package main

import (
	"html/template"
	"io"
)

var pages = template.Must(template.New("page").Parse(layout))

// render writes a page.
func render(w io.Writer, p Page) error { return pages.Execute(w, p) }
