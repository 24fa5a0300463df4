//go:build !twin

package main

import "context"

// refresh asks for all regions, so that the board shows one round of prices.
func (b *Board) refresh(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name := range b.pages {
		page, err := b.fetch(ctx, name)
		if err != nil {
			return err
		}
		b.pages[name] = page
	}
	return nil
}
