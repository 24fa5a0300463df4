//go:build !twin

package main

import "io"

// readHead reads the beginning of a record.
func readHead(to []byte, record io.ReadCloser) error {
	defer func() { _ = record.Close() }()
	_, err := io.ReadFull(record, to)
	return err
}
