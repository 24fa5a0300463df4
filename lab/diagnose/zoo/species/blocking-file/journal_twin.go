//go:build twin

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A journal has a line for each order. Orders of the same few milliseconds are written
// together.
type journal struct {
	mu    sync.Mutex
	file  *os.File
	batch *batch
}

type batch struct {
	lines bytes.Buffer
	done  chan struct{}
	err   error // valid after done
}

func openJournal(dir string) (*journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "journal"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	return &journal{file: f}, nil
}

// append writes a line, which is safe when it returns.
func (j *journal) append(line []byte) error {
	j.mu.Lock()
	b := j.batch
	if b == nil {
		b = &batch{done: make(chan struct{})}
		j.batch = b
		time.AfterFunc(2*time.Millisecond, func() { j.write(b) })
	}
	b.lines.Write(line)
	j.mu.Unlock()
	<-b.done
	return b.err
}

func (j *journal) write(b *batch) {
	j.mu.Lock()
	j.batch = nil
	j.mu.Unlock()
	_, b.err = j.file.Write(b.lines.Bytes())
	if b.err == nil {
		b.err = j.file.Sync()
	}
	close(b.done)
}
