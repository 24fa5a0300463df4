//go:build !twin

package main

import "io"

// thumbnail draws a picture and writes its small version.
func thumbnail(w io.Writer, p *Picture) {
	canvas := make([]byte, width*height*4)
	p.flip(canvas, height/small)
	_, _ = w.Write(shrink(nil, canvas))
}
