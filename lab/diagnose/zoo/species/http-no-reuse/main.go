// Command checkout takes orders, and reserves the articles in the inventory service.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

// Order is what a customer sends.
type Order struct {
	SKU    string `json:"sku"`
	Amount int    `json:"amount"`
}

// Shop takes orders.
type Shop struct {
	inventory string // base of its URLs
	client    *http.Client
	number    atomic.Int64
}

// reserve asks the inventory service for an article. Only the status counts.
func (s *Shop) reserve(ctx context.Context, o Order) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.inventory+"/stock/"+o.SKU, nil)
	if err != nil {
		return err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer finish(resp)
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("inventory: %s", resp.Status)
	}
	return nil
}

func (s *Shop) order(w http.ResponseWriter, r *http.Request) {
	var o Order
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&o); err != nil || o.SKU == "" || o.Amount < 1 {
		http.Error(w, "not an order", http.StatusBadRequest)
		return
	}
	if err := s.reserve(r.Context(), o); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, `{"order":%d}`, s.number.Add(1))
}

func main() {
	shop := &Shop{
		inventory: "http://" + service.Backend(),
		client: &http.Client{
			Transport: &http.Transport{MaxIdleConns: 200, MaxIdleConnsPerHost: 200, IdleConnTimeout: time.Minute},
			Timeout:   5 * time.Second,
		},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", service.Health)
	mux.HandleFunc("POST /orders", shop.order)
	service.Main(mux)
}
