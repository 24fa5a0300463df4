//go:build twin

package main

// send gives a message to everyone in the room.
func (r *Room) send(text string) {
	for _, m := range r.members {
		m.receive(text)
	}
}
