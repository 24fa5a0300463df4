//go:build twin

package main

import (
	"bufio"
	"net/http"
)

// export writes the movements.
func export(w http.ResponseWriter, movements []movement) error {
	out := bufio.NewWriterSize(w, 32<<10)
	buf := make([]byte, 0, 64)
	for _, m := range movements {
		if err := line(out, buf, m); err != nil {
			return err
		}
	}
	return out.Flush()
}
