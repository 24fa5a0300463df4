//go:build !twin

package main

import "time"

// touch keeps a cart for another half hour.
func (a *carts) touch(id string, c *cart) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := time.Now()
	c.drop = time.AfterFunc(keep, func() {
		if time.Since(seen) >= keep {
			a.remove(id, c)
		}
	})
}
