//go:build !twin

package main

import (
	"net/http"
	"time"
)

// newTransport returns the transport to the inventory service.
func newTransport() *http.Transport {
	return &http.Transport{
		MaxIdleConns:          100,
		IdleConnTimeout:       90 * time.Second,
		ResponseHeaderTimeout: 5 * time.Second,
	}
}
