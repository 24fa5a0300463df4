// Command geocoder answers where an address is.
package main

import (
	"encoding/json"
	"hash/fnv"
	"net/http"

	"golang.org/x/time/rate"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

type place struct {
	Address   string  `json:"address"`
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

// locate finds a place on the grid.
func locate(address string) place {
	h := fnv.New64a()
	_, _ = h.Write([]byte(address))
	n := h.Sum64()
	return place{address, float64(n%180_000)/1000 - 90, float64(n>>20%360_000)/1000 - 180}
}

func main() {
	limit := rate.NewLimiter(quota, burst)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", service.Health)
	mux.HandleFunc("GET /places", func(w http.ResponseWriter, r *http.Request) {
		if err := limit.Wait(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusTooManyRequests)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(locate(r.URL.Query().Get("q")))
	})
	service.Main(mux)
}
