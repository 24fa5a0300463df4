package cputime

import "testing"

// The proportion of user and system time comes from coarse clocks, the sum does
// not.
func TestSplit(t *testing.T) {
	user, sys, total := Split(Time{Total: 1e9, User: 10, Sys: 10}, Time{Total: 2e9, User: 40, Sys: 20})
	if user != 0.75 || sys != 0.25 || total != 1 {
		t.Errorf("user %v, sys %v, total %v", user, sys, total)
	}
	if user, sys, total = Split(Time{}, Time{Total: 1e6}); user+sys != total || total != 0.001 {
		t.Errorf("without ticks: user %v, sys %v, total %v", user, sys, total)
	}
}
