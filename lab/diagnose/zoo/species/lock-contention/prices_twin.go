//go:build twin

package main

import (
	"context"
	"sync"
	"time"
)

// prices remembers prices.
type prices struct {
	mu     sync.RWMutex
	known  map[string]price
	source *source
}

func newPrices(s *source) *prices { return &prices{known: map[string]price{}, source: s} }

// get returns a price that is valid.
func (p *prices) get(ctx context.Context, sku string) (price, error) {
	p.mu.RLock()
	found, ok := p.known[sku]
	p.mu.RUnlock()
	if ok && time.Now().Before(found.until) {
		return found, nil
	}
	fresh, err := p.source.fetch(ctx, sku)
	if err != nil {
		return price{}, err
	}
	p.mu.Lock()
	p.known[sku] = fresh
	p.mu.Unlock()
	return fresh, nil
}
