//go:build !twin

package main

import (
	"log"
	"runtime/debug"
)

// discount returns what the coupon of a line takes off.
func discount(l line) (off int) {
	defer func() {
		if r := recover(); r != nil {
			log.Printf("discount of %s: %v\n%s", l.SKU, r, debug.Stack())
			off = 0
		}
	}()
	return l.Cents * l.Pieces * l.Coupon.Percent / 100
}
