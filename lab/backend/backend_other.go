//go:build !linux

package backend

import (
	"context"
	"errors"
	"time"
)

// Longest is the longest delay that a question may hold.
const Longest = time.Second

// Serve returns an error: it needs Linux.
func Serve(context.Context, string) error {
	return errors.New("the waiting backend needs Linux")
}

// ServeHTTP returns an error: it needs Linux.
func ServeHTTP(ctx context.Context, path string) error { return Serve(ctx, path) }
