// Package web is what the pages of the lab have in common: the script that draws, the
// style, tables that sort, and the policy that denies a page the network.
//
// dist is built from src; see build.mjs.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // the bundle
	"encoding/base64"
	"html/template"
	"io"
)

// The bundle, as it stands in every page.
var (
	//go:embed dist/report.js
	Script string
	//go:embed dist/report.css
	Style string

	//go:embed table.gohtml
	tableSource string
)

// Parse makes the template of a page. It may use the template "table" with a [Table].
// It panics when the source is none, as [template.Must] does.
func Parse(name, source string) *template.Template {
	return template.Must(template.Must(template.New(name).Parse(tableSource)).Parse(source))
}

// Policy allows a page its own script and style, by their hashes, and nothing else: no
// network, no other code (CSP Level 3, 2.3.1).
func Policy() string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; script-src " + hash(Script) + "; style-src " + hash(Style) +
		"; base-uri 'none'; form-action 'none'"
}

// Pack returns what encode writes as a JSON string of base64 of gzip: small, and made of
// characters that mean nothing in HTML. It returns the errors of encode.
func Pack(encode func(io.Writer) error) (string, error) {
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
