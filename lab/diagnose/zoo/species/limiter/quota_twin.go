//go:build twin

package main

// The answers a second that protect the service.
const quota, burst = 200_000, 2_000
