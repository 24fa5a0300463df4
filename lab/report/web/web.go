// Package web holds the common parts of the lab's HTML pages: the script that draws the
// charts, the style, sortable tables, and the security policy that denies a page the
// network.
//
// dist is built from src; see build.mjs.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // the bundle and the templates
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
)

// The bundle of reports, which every report contains unchanged.
var (
	//go:embed dist/report.js
	Script string
	//go:embed dist/report.css
	Style string
)

// The bundle of flame graphs, which draws them without a library.
var (
	//go:embed dist/flame.js
	FlameScript string
	//go:embed dist/flame.css
	FlameStyle string
)

var (
	//go:embed table.gohtml
	tableSource string
	//go:embed frame.gohtml
	frameSource string
)

// A Frame is what all pages contain besides their own content. A page's template passes it
// to the templates "head", "bar" and "scripts". The typed strings are not escaped.
type Frame struct {
	Policy  string // Content-Security-Policy
	Style   template.CSS
	Script  template.JS
	View    template.JS // JSON of what the script draws
	Results template.JS // the page's document, packed
	File    string      // name under which the page offers the document for download
}

// NewFrame returns a frame with view as JSON and with the document that encode writes. It
// returns an error if view has no JSON, and the errors of encode.
func NewFrame(view any, file string, encode func(io.Writer) error) (Frame, error) {
	return newFrame(Script, Style, view, file, encode)
}

// NewFlameFrame is NewFrame for a page with a flame graph.
func NewFlameFrame(view any, file string, encode func(io.Writer) error) (Frame, error) {
	return newFrame(FlameScript, FlameStyle, view, file, encode)
}

func newFrame(script, style string, view any, file string, encode func(io.Writer) error) (Frame, error) {
	// json.Marshal escapes <, > and & in strings: the text cannot leave its element.
	drawn, err := json.Marshal(view)
	if err != nil {
		return Frame{}, fmt.Errorf("encode view: %w", err)
	}
	packed, err := pack(encode)
	if err != nil {
		return Frame{}, fmt.Errorf("pack %s: %w", file, err)
	}
	return Frame{
		Policy: policy(script, style), Style: template.CSS(style), Script: template.JS(script),
		View: template.JS(drawn), Results: template.JS(packed), File: file,
	}, nil
}

// Parse returns the template of a page. Besides those of [Frame] it may use the template
// "table" with a [Table]. It panics if source is invalid, as [template.Must] does.
func Parse(name, source string) *template.Template {
	return template.Must(template.Must(template.New(name).Parse(tableSource + frameSource)).Parse(source))
}

// Write executes the template of a page with data and writes the page to w, unless the
// template fails. It returns the errors of the template and of w.
func Write(w io.Writer, page *template.Template, data any) error {
	var out bytes.Buffer
	if err := page.Execute(&out, data); err != nil {
		return fmt.Errorf("make page: %w", err)
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// Policy returns the Content-Security-Policy of a report. It allows the page's script and
// style by their hashes, and nothing else: no network, no other code (CSP Level 3, 2.3.1).
func Policy() string { return policy(Script, Style) }

func policy(script, style string) string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; script-src " + hash(script) + "; style-src " + hash(style) +
		"; base-uri 'none'; form-action 'none'"
}

// pack compresses what encode writes with gzip and returns it as a JSON string of base64,
// which has no characters that are special in HTML.
func pack(encode func(io.Writer) error) (string, error) {
	var packed bytes.Buffer
	gz, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if err := encode(gz); err != nil {
		return "", err
	}
	if err := gz.Close(); err != nil {
		return "", err
	}
	return `"` + base64.StdEncoding.EncodeToString(packed.Bytes()) + `"`, nil
}
