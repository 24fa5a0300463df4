package main

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestLoadGrows sends what is due although the server stalls: without -c an open loop makes connections
// for the arrivals that wait, so that the run measures the server and is not INVALID.
func TestLoadGrows(t *testing.T) {
	for name, more := range map[string][]string{"grows": nil, "as asked": {"-c", "64"}} {
		t.Run(name, func(t *testing.T) {
			var stall sync.RWMutex
			url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, n int64) {
				if n%500 == 0 {
					stall.Lock()
					time.Sleep(500 * time.Millisecond)
					stall.Unlock()
				}
				stall.RLock()
				defer stall.RUnlock()
				hello(w, r, n)
			})
			_, out, said := loadOf(t, t.Context(), append(more, "-r", "500", "-d", "3s", "--warmup", "0", "--json", "-", url)...)
			d := documentOf(t, out)
			if name == "grows" {
				if d.Connects.Made <= 64 || d.Config.Most <= 64 || d.Open.Waited == 0 || d.Open.SendLag.P99 == nil {
					t.Errorf("%d connections, %+v; %s", d.Connects.Made, d.Open, said)
				}
			} else if d.Connects.Made != 64 || d.Config.Most != 0 || !slices.Contains(failed(d), "send lag") {
				t.Errorf("%d connections, gates %v", d.Connects.Made, failed(d))
			}
			if d.Latency.MaxUs < 0.4e6 {
				t.Errorf("the longest latency is %v us", d.Latency.MaxUs)
			}
		})
	}
}
