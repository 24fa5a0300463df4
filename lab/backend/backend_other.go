//go:build !linux

package backend

import (
	"context"
	"errors"
	"time"
)

// Longest is the longest time that a question may name.
const Longest = time.Second

// Serve needs Linux.
func Serve(context.Context, string) error {
	return errors.New("the waiting backend needs Linux")
}

// ServeHTTP needs Linux.
func ServeHTTP(ctx context.Context, path string) error { return Serve(ctx, path) }
