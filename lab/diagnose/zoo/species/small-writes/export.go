//go:build !twin

package main

import "net/http"

// export writes the movements. Large accounts take a while: the client sees progress.
func export(w http.ResponseWriter, movements []movement) error {
	out := http.NewResponseController(w)
	buf := make([]byte, 0, 64)
	for _, m := range movements {
		if err := line(w, buf, m); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return nil
}
