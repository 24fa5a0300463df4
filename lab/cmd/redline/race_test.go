//go:build race

package main

import (
	"os"
	"testing"
)

// once skips a test under the race detector, which slows every process of a test down, and finds
// nothing in documents, flags and processes: code of this process that the test runs is run by another
// test, or by another row of the same table. Without the detector, each of them runs.
func once(t *testing.T) {
	t.Helper()
	t.Skip("it runs without the race detector: another test runs the same code with it")
}

// By default each process sleeps for a second before it exits, so that goroutines can report
// races meanwhile. The tests run hundreds of processes one after another.
func init() {
	if err := os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
}
