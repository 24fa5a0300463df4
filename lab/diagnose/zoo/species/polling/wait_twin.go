//go:build twin

package main

import "context"

// wait returns when a job is done.
func wait(ctx context.Context, j *job) bool {
	select {
	case <-j.ready:
		return true
	case <-ctx.Done():
		return false
	}
}
