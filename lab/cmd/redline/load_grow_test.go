package main

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// stalling answers, and stalls for half a second at every five hundredth request.
func stalling() func(http.ResponseWriter, *http.Request, int64) {
	var stall sync.RWMutex
	return func(w http.ResponseWriter, r *http.Request, n int64) {
		if n%500 == 0 {
			stall.Lock()
			time.Sleep(500 * time.Millisecond)
			stall.Unlock()
		}
		stall.RLock()
		defer stall.RUnlock()
		hello(w, r, n)
	}
}

// TestLoadGrows sends what is due although the server stalls: without -c an open loop makes connections
// for the arrivals that wait, so that the run measures the server and is not INVALID. Where their
// number is fixed, the wait counts as the server's.
func TestLoadGrows(t *testing.T) {
	for name, c := range map[string]struct {
		flags []string
		most  int // connections
		valid bool
	}{
		"grows":    {nil, 1024, true},
		"HTTP/2":   {[]string{"--http2"}, 1024, true},
		"streams":  {[]string{"--http2", "--streams", "2"}, 512, true},
		"workers":  {[]string{"--workers", "2"}, 1024, true},
		"scenario": {[]string{"--targets", targets(t)}, 0, true},
		"as asked": {[]string{"-c", "64"}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := serve(t, stalling())
			_, out, said := loadOf(t, t.Context(), append(c.flags, "-r", "500", "-d", "2s", "--warmup", "0", "--json", "-", url)...)
			d := documentOf(t, out)
			if most := d.Config.Most; most > c.most || (most > 0) != (c.most > 0) || d.Config.Unasked != c.valid {
				t.Errorf("%d connections at most, want %d; %+v", most, c.most, d.Config)
			}
			if grew := d.Connects.Made > 64; grew != (c.most > 0) || d.Open.Waited == 0 {
				t.Errorf("%d connections, %+v; %s", d.Connects.Made, d.Open, said)
			}
			if slices.Contains(failed(d), "send lag") == c.valid {
				t.Errorf("gates %v, want a valid run: %v", failed(d), c.valid)
			}
			if fixed := c.valid && c.most == 0; fixed != slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, "waited for one of the 64 connections") }) {
				t.Errorf("notes %q", d.Notes)
			}
			if d.Latency.MaxUs < 0.4e6 {
				t.Errorf("the longest latency is %v us", d.Latency.MaxUs)
			}
		})
	}
}
