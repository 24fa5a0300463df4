//go:build twin

package main

import (
	"encoding/binary"
	"sync"
	"time"
)

type sealer struct {
	mu      sync.Mutex
	current []byte
	until   time.Time
}

func newSealer() *sealer { return &sealer{} }

// key returns the key that vouchers are sealed with today.
func (s *sealer) key() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.After(s.until) {
		s.current, s.until = binary.BigEndian.AppendUint32(nil, derive(7)), now.Add(time.Minute)
	}
	return s.current
}
