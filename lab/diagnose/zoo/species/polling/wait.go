//go:build !twin

package main

import (
	"context"
	"time"
)

// wait looks every 20 ms whether a job is done.
func wait(ctx context.Context, j *job) bool {
	t := time.NewTicker(20 * time.Millisecond)
	defer t.Stop()
	for !j.done.Load() {
		select {
		case <-t.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
