//go:build !twin

package main

import "net/http"

// finish ends the use of a response.
func finish(resp *http.Response) { _ = resp.Body.Close() }
