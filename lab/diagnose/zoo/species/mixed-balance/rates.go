//go:build !twin

package main

import (
	"sync"
	"time"
)

// rates has the rates of the last moments.
type rates struct {
	bank *bank
	mu   sync.Mutex
	last map[string]dated
}

type dated struct {
	rate rate
	at   time.Time
}

func newRates(b *bank) *rates { return &rates{bank: b, last: map[string]dated{}} }

func (r *rates) get(currency string) (rate, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d, ok := r.last[currency]; ok && time.Since(d.at) < time.Millisecond {
		return d.rate, nil
	}
	current, err := r.bank.fetch(currency)
	if err != nil {
		return rate{}, err
	}
	r.last[currency] = dated{rate: current, at: time.Now()}
	return current, nil
}
