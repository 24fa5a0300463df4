//go:build twin

package main

import (
	"io"
	"net/http"
)

// finish ends the use of a response.
func finish(resp *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	_ = resp.Body.Close()
}
