//go:build twin

package main

import "context"

// refresh asks for all regions, so that the board shows one round of prices.
func (b *Board) refresh(ctx context.Context) error {
	round := make(map[string][]byte, regions)
	for i := range regions {
		page, err := b.fetch(ctx, region(i))
		if err != nil {
			return err
		}
		round[region(i)] = page
	}
	b.mu.Lock()
	b.pages = round
	b.mu.Unlock()
	return nil
}
