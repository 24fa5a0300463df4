//go:build !twin

package main

import "net/http"

// receipt answers with a receipt.
func receipt(w http.ResponseWriter, items int) {
	s := sheets.Get().(*sheet)
	if _, err := w.Write(write(s, items)); err != nil {
		sheets.Put(s)
	}
}
