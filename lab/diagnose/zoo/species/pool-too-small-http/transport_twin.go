//go:build twin

package main

import (
	"net/http"
	"time"
)

// newTransport returns the transport to the inventory service.
func newTransport() *http.Transport {
	return &http.Transport{
		MaxConnsPerHost:     1024,
		MaxIdleConnsPerHost: 1024,
		IdleConnTimeout:     90 * time.Second,
	}
}
