//go:build twin

package main

// discount returns what the coupon of a line takes off.
func discount(l line) int {
	if l.Coupon == nil {
		return 0
	}
	return l.Cents * l.Pieces * l.Coupon.Percent / 100
}
