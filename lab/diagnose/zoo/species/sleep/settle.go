//go:build !twin

package main

import (
	"context"
	"time"
)

// settle gives the book-keeping time to see the change.
func settle(context.Context) { time.Sleep(25 * time.Millisecond) }
