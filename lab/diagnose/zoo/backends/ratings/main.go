// Command ratings answers how visitors rate an article. It answers one request at a time, each
// within about two milliseconds, and refuses what does not fit into its queue.
package main

import (
	"fmt"
	"net/http"
	"time"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

func main() {
	queue, worker := make(chan struct{}, 4), make(chan struct{}, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", service.Health)
	mux.HandleFunc("GET /ratings/{sku}", func(w http.ResponseWriter, r *http.Request) {
		select {
		case queue <- struct{}{}:
		default:
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		defer func() { <-queue }()
		worker <- struct{}{}
		time.Sleep(2 * time.Millisecond)
		<-worker
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"sku":%q,"stars":4.5,"votes":%d}`, r.PathValue("sku"), 17)
	})
	service.Main(mux)
}
