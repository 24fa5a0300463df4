//go:build twin

package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// open is until when the ratings are left alone, in nanoseconds.
var open atomic.Int64

// get returns the rating of an article.
func (rs *ratings) get(ctx context.Context, sku string) (*rating, error) {
	if time.Now().UnixNano() < open.Load() {
		return nil, errBusy
	}
	r, err := rs.ask(ctx, sku)
	if errors.Is(err, errBusy) {
		open.Store(time.Now().Add(20 * time.Millisecond).UnixNano())
	}
	return r, err
}
