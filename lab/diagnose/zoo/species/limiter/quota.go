//go:build !twin

package main

// The answers a second, of the provider that was used before.
const quota, burst = 400, 10
