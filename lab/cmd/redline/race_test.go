//go:build race

package main

import "os"

// raced reports whether the race detector is on. It slows every process of a test down, and so
// what a test would repeat with the same code is not repeated then.
const raced = true

// By default each process sleeps for a second before it exits, so that goroutines can report
// races meanwhile. The tests run hundreds of processes one after another.
func init() {
	if err := os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
}
