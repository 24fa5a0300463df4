//go:build twin

package main

import "net/http"

// receipt answers with a receipt.
func receipt(w http.ResponseWriter, items int) {
	s := sheets.Get().(*sheet)
	defer sheets.Put(s)
	_, _ = w.Write(write(s, items)) // an error is the client's
}
