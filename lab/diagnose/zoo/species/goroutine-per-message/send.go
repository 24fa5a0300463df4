//go:build !twin

package main

import "sync"

// send gives a message to everyone in the room.
func (r *Room) send(text string) {
	var all sync.WaitGroup
	for _, m := range r.members {
		all.Go(func() { m.receive(text) })
	}
	all.Wait()
}
