//go:build twin

package main

import "time"

// touch keeps a cart for another half hour.
func (a *carts) touch(id string, c *cart) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.drop != nil && c.drop.Reset(keep) {
		return
	}
	c.drop = time.AfterFunc(keep, func() { a.remove(id, c) })
}
