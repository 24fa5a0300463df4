//go:build twin

package main

import "io"

// readHead reads a record, and keeps its beginning.
func readHead(to []byte, record io.ReadCloser) error {
	defer func() { _ = record.Close() }()
	if _, err := io.ReadFull(record, to); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, record)
	return err
}
