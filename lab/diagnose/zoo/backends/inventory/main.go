// Command inventory is the service behind several species: it answers GET /stock/SKU after
// $DELAY (a duration; none without it) with a record of about $SIZE bytes (200).
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

func main() {
	delay, size := time.Duration(0), 200
	var err error
	if text := os.Getenv("DELAY"); text != "" {
		if delay, err = time.ParseDuration(text); err != nil {
			log.Fatal(err)
		}
	}
	if text := os.Getenv("SIZE"); text != "" {
		if size, err = strconv.Atoi(text); err != nil {
			log.Fatal(err)
		}
	}
	note := strings.Repeat("n", size)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", service.Health)
	mux.HandleFunc("GET /stock/{sku}", func(w http.ResponseWriter, r *http.Request) {
		if delay > 0 {
			time.Sleep(delay)
		}
		sku := r.PathValue("sku")
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"sku":%q,"stock":%d,"cents":%d,"note":%q}`, sku, len(sku)*7%50, 990+len(sku), note)
	})
	service.Main(mux)
}
