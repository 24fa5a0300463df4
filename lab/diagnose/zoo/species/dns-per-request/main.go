// Command stock answers how many pieces of an article the warehouses have. It asks the
// inventory service, which it finds by name.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

const inventoryName = "inventory.stock.internal."

type availability struct {
	SKU    string `json:"sku"`
	Pieces int    `json:"pieces"`
	Site   string `json:"site"`
}

type stock struct {
	hosts *hosts
	port  string
	http  *http.Client
}

func main() {
	cluster := service.Backend() // the nameserver and the inventory, on the same port
	_, port, err := net.SplitHostPort(cluster)
	if err != nil {
		log.Fatal(fmt.Errorf("address of the inventory: %w", err))
	}
	resolver := &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "udp", cluster)
		},
	}
	s := &stock{
		hosts: newHosts(resolver),
		port:  port,
		http:  &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute}},
	}
	r := chi.NewRouter()
	r.Get("/stock/{sku}", s.show)
	r.Get("/healthz", service.Health)
	service.Main(r)
}

// show asks one of the inventory's replicas.
func (s *stock) show(w http.ResponseWriter, r *http.Request) {
	ip, err := s.hosts.pick(r.Context(), inventoryName)
	if err != nil {
		http.Error(w, "no inventory", http.StatusServiceUnavailable)
		return
	}
	target := "http://" + net.JoinHostPort(ip, s.port) + "/pieces?sku=" + chi.URLParam(r, "sku")
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, target, nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	req.Host = inventoryName
	resp, err := s.http.Do(req)
	if err != nil {
		http.Error(w, "no answer", http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	var a availability
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		http.Error(w, "no answer", http.StatusBadGateway)
		return
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a)
}
