//go:build !twin

package main

import "context"

type noteKey struct{}

// within prints a note while the desk is open.
func (d *desk) within(n *note) int {
	ctx, stop := context.WithCancel(context.WithValue(d.open, noteKey{}, n))
	n.stop = stop
	return d.print(ctx, n)
}
