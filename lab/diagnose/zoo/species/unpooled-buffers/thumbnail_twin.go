//go:build twin

package main

import (
	"io"
	"sync"
)

// drawing is what one thumbnail needs.
type drawing struct {
	canvas [width * height * 4]byte
	small  [small * small * 3]byte
}

var drawings = sync.Pool{New: func() any { return new(drawing) }}

// thumbnail draws a picture and writes its small version.
func thumbnail(w io.Writer, p *Picture) {
	d := drawings.Get().(*drawing)
	defer drawings.Put(d)
	p.flip(d.canvas[:], height/small)
	_, _ = w.Write(shrink(d.small[:0], d.canvas[:]))
}
