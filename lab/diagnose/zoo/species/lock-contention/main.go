// Command quotes answers what an article costs. Prices come from the inventory service, and are
// remembered for a short time.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	_ "net/http/pprof"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

const (
	articles = 2000
	validity = 200 * time.Millisecond
)

// price is what an article costs, and until when that is known.
type price struct {
	cents int
	until time.Time
}

// source asks the inventory service.
type source struct {
	base   string
	client *http.Client
}

func newSource(addr string) *source {
	return &source{"http://" + addr + "/stock/", &http.Client{
		Transport: &http.Transport{MaxIdleConns: 256, MaxIdleConnsPerHost: 256},
		Timeout:   5 * time.Second,
	}}
}

func (s *source) fetch(ctx context.Context, sku string) (price, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+sku, nil)
	if err != nil {
		return price{}, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return price{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		Cents int `json:"cents"`
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return price{}, err
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return price{}, fmt.Errorf("inventory: %w", err)
	}
	return price{answer.Cents, time.Now().Add(validity)}, nil
}

func main() {
	prices := newPrices(newSource(service.Backend()))
	router := chi.NewRouter()
	router.Get("/healthz", service.Health)
	router.Get("/quote", func(w http.ResponseWriter, r *http.Request) {
		sku := r.URL.Query().Get("sku")
		if sku == "" {
			sku = "B-" + strconv.Itoa(rand.IntN(articles))
		}
		p, err := prices.get(r.Context(), sku)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"sku":%q,"cents":%d}`, sku, p.cents)
	})
	service.MainAdmin(router, http.DefaultServeMux)
}
