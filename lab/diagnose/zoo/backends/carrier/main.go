// Command carrier answers the price of a parcel. Most answers take a few milliseconds; one in
// ten requests has no answer for LATE.
package main

import (
	"log"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

func main() {
	var asked atomic.Int64
	late := 200 * time.Millisecond
	if text := os.Getenv("LATE"); text != "" {
		var err error
		if late, err = time.ParseDuration(text); err != nil {
			log.Fatal(err)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", service.Health)
	mux.HandleFunc("GET /price", func(w http.ResponseWriter, r *http.Request) {
		wait := 3 * time.Millisecond
		if asked.Add(1)%10 == 0 {
			wait = late
		}
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"cents":1590,"source":"carrier"}`))
	})
	service.Main(mux)
}
