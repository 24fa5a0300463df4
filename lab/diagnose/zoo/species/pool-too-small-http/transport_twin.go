//go:build twin

package main

import (
	"net/http"
	"time"
)

// newTransport returns the transport to the inventory service.
func newTransport() *http.Transport {
	return &http.Transport{
		MaxConnsPerHost:     128,
		MaxIdleConnsPerHost: 128,
		IdleConnTimeout:     90 * time.Second,
	}
}
