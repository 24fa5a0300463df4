//go:build twin

package main

import (
	"bytes"
	"errors"
	"log"
	"os"
	"sync"
	"time"
)

const (
	every      = 5 * time.Second // between two copies on disk
	maxBaskets = 100_000
)

var errFull = errors.New("too many visitors")

// Baskets are in memory, and copied to a file now and then.
type Baskets struct {
	file string

	mu      sync.Mutex
	open    map[string]Basket
	changed bool
}

func newBaskets(file string) (*Baskets, error) {
	s := &Baskets{file: file, open: map[string]Basket{}}
	go func() {
		for range time.Tick(every) {
			if err := s.save(); err != nil {
				log.Print(err)
			}
		}
	}()
	return s, nil
}

// put adds an article, and returns the basket as text.
func (s *Baskets) put(id string, article int) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, known := s.open[id]
	if !known {
		if len(s.open) >= maxBaskets {
			return nil, errFull
		}
		b = make(Basket, 0, maxItems)
	}
	b = b.add(article)
	s.open[id], s.changed = b, true
	return b.append(make([]byte, 0, 4*maxItems)), nil
}

// save copies the baskets to the file if one has changed.
func (s *Baskets) save() error {
	var all bytes.Buffer
	s.mu.Lock()
	if !s.changed {
		s.mu.Unlock()
		return nil
	}
	s.changed = false
	for id, b := range s.open {
		all.WriteString(id + " ")
		all.Write(append(b.append(all.AvailableBuffer()), '\n'))
	}
	s.mu.Unlock()
	if err := os.WriteFile(s.file+".new", all.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(s.file+".new", s.file)
}
