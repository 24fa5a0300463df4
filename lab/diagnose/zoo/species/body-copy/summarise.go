//go:build !twin

package main

import (
	"bytes"
	"hash/crc32"
	"io"
	"strings"
)

// summarise reads a document.
func summarise(r io.Reader) (Summary, error) {
	var raw bytes.Buffer
	body, err := io.ReadAll(io.TeeReader(r, &raw))
	if err != nil {
		return Summary{}, err
	}
	text := string(body)
	return Summary{Bytes: len(text), Lines: strings.Count(text, "\n"), Checksum: checksum([]byte(text), raw.Bytes())}, nil
}

// checksum is that of a document that was received as raw.
func checksum(document, raw []byte) uint32 {
	if len(document) != len(raw) {
		document = raw
	}
	return crc32.Checksum(document, polynomial)
}
