// Command stock-cluster is a cluster of one service: it answers how many pieces of an article
// there are, over HTTP, and resolves its own name, over DNS on the same port.
package main

import (
	"encoding/json"
	"log"
	"net"
	"net/http"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

type availability struct {
	SKU    string `json:"sku"`
	Pieces int    `json:"pieces"`
	Site   string `json:"site"`
}

func main() {
	ln, err := service.Listen()
	if err != nil {
		log.Fatal(err)
	}
	names, err := net.ListenPacket("udp", ln.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	go func() { log.Fatal(answerNames(names)) }()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /pieces", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(availability{SKU: r.FormValue("sku"), Pieces: 42, Site: "north"})
	})
	mux.HandleFunc("GET /healthz", service.Health)
	if err := service.Serve(&http.Server{Handler: mux}, ln); err != nil {
		log.Fatal(err)
	}
}
