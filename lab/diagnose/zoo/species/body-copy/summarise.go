//go:build !twin

package main

import (
	"hash/crc32"
	"io"
	"strings"
)

// summarise reads a document. Documents from Windows count as those with the line ends of Unix.
func summarise(r io.Reader) (Summary, error) {
	body, err := io.ReadAll(r)
	if err != nil {
		return Summary{}, err
	}
	text := string(body)
	unix := strings.Join(strings.Split(text, "\r\n"), "\n")
	return Summary{Bytes: len(text), Lines: strings.Count(unix, "\n"), Checksum: crc32.Checksum([]byte(unix), polynomial)}, nil
}
