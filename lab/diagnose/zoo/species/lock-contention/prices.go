//go:build !twin

package main

import (
	"context"
	"sync"
	"time"
)

// prices remembers prices.
type prices struct {
	mu     sync.Mutex
	known  map[string]price
	source *source
}

func newPrices(s *source) *prices { return &prices{known: map[string]price{}, source: s} }

// get returns a price that is valid.
func (p *prices) get(ctx context.Context, sku string) (price, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if found, ok := p.known[sku]; ok && time.Now().Before(found.until) {
		return found, nil
	}
	fresh, err := p.source.fetch(ctx, sku)
	if err != nil {
		return price{}, err
	}
	p.known[sku] = fresh
	return fresh, nil
}
