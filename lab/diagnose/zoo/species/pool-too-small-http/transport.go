//go:build !twin

package main

import (
	"net/http"
	"time"
)

// newTransport returns the transport to the inventory service, which asked its users not to open many
// connections.
func newTransport() *http.Transport {
	return &http.Transport{
		MaxConnsPerHost:     2,
		MaxIdleConnsPerHost: 2,
		IdleConnTimeout:     90 * time.Second,
	}
}
