// Command basket adds up what the articles of a basket cost. It asks the inventory service for all
// articles at the same time.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	_ "net/http/pprof"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

// perBasket is how many articles a basket has.
const perBasket = 4

// Inventory is a client of the inventory service.
type Inventory struct {
	base   string
	client *http.Client
}

// Cents asks what an article costs.
func (i *Inventory) Cents(ctx context.Context, sku string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, i.base+"/stock/"+sku, nil)
	if err != nil {
		return 0, err
	}
	resp, err := i.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	var article struct {
		Cents int `json:"cents"`
	}
	if err := json.Unmarshal(body, &article); err != nil {
		return 0, fmt.Errorf("inventory: %w", err)
	}
	return article.Cents, nil
}

// Sum adds the prices of all articles.
func (i *Inventory) Sum(ctx context.Context, skus []string) (int, error) {
	cents, errs := make([]int, len(skus)), make([]error, len(skus))
	var all sync.WaitGroup
	for n, sku := range skus {
		all.Go(func() { cents[n], errs[n] = i.Cents(ctx, sku) })
	}
	all.Wait()
	sum := 0
	for n := range skus {
		if errs[n] != nil {
			return 0, errs[n]
		}
		sum += cents[n]
	}
	return sum, nil
}

func main() {
	inventory := &Inventory{"http://" + service.Backend(), &http.Client{Transport: newTransport(), Timeout: 5 * time.Second}}
	router := chi.NewRouter()
	router.Get("/healthz", service.Health)
	router.Get("/basket", func(w http.ResponseWriter, r *http.Request) {
		skus := make([]string, perBasket)
		for n := range skus {
			skus[n] = fmt.Sprintf("D-%04d", rand.IntN(10_000))
		}
		sum, err := inventory.Sum(r.Context(), skus)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"articles":%d,"cents":%d}`, len(skus), sum)
	})
	service.MainAdmin(router, http.DefaultServeMux)
}
