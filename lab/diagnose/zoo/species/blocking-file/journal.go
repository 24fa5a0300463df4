//go:build !twin

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// A journal has a line for each order.
type journal struct {
	mu   sync.Mutex
	dir  *os.File
	file *os.File
}

func openJournal(dir string) (*journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "journal"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	return &journal{file: f, dir: d}, nil
}

// append writes a line, which is safe when it returns.
func (j *journal) append(line []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.file.Write(line); err != nil {
		return fmt.Errorf("write order: %w", err)
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("write order: %w", err)
	}
	return j.dir.Sync()
}
