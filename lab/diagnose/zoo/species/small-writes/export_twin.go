//go:build twin

package main

import (
	"bufio"
	"io"
	"net/http"
	"sync"
)

var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(io.Discard, 32<<10) }}

// export writes the movements.
func export(w http.ResponseWriter, movements []movement) error {
	out := buffers.Get().(*bufio.Writer)
	defer buffers.Put(out)
	out.Reset(w)
	buf := make([]byte, 0, 64)
	for _, m := range movements {
		if err := line(out, buf, m); err != nil {
			return err
		}
	}
	return out.Flush()
}
