//go:build twin

package main

import (
	"sync"
	"time"
)

// rates has the rates of the last minute.
type rates struct {
	bank *bank
	mu   sync.RWMutex
	last map[string]dated
}

type dated struct {
	rate rate
	at   time.Time
}

func newRates(b *bank) *rates { return &rates{bank: b, last: map[string]dated{}} }

func (r *rates) get(currency string) (rate, error) {
	r.mu.RLock()
	d, ok := r.last[currency]
	r.mu.RUnlock()
	if ok && time.Since(d.at) < time.Minute {
		return d.rate, nil
	}
	current, err := r.bank.fetch(currency)
	if err != nil {
		return rate{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last[currency] = dated{rate: current, at: time.Now()}
	return current, nil
}
