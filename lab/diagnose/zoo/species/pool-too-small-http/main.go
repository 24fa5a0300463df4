// Command availability tells a shop whether articles are in stock, from the warehouse's
// inventory service.
package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

// Article is an answer of the inventory service.
type Article struct {
	SKU   string `json:"sku"`
	Stock int    `json:"stock"`
	Cents int    `json:"cents"`
}

// Warehouse asks the inventory service.
type Warehouse struct {
	base   string
	client *http.Client
}

func newWarehouse(addr string) *Warehouse {
	return &Warehouse{
		base:   "http://" + addr,
		client: &http.Client{Transport: newTransport(), Timeout: 5 * time.Second},
	}
}

// Article looks one article up.
func (w *Warehouse) Article(r *http.Request, sku string) (*Article, error) {
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, w.base+"/stock/"+sku, nil)
	if err != nil {
		return nil, err
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("inventory: %s", resp.Status)
	}
	var a Article
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return nil, err
	}
	return &a, nil
}

func main() {
	warehouse := newWarehouse(service.Backend())
	router := chi.NewRouter()
	router.Get("/healthz", service.Health)
	router.Get("/availability", func(w http.ResponseWriter, r *http.Request) {
		sku := r.URL.Query().Get("sku")
		if sku == "" {
			sku = fmt.Sprintf("A-%05d", rand.IntN(10_000))
		}
		article, err := warehouse.Article(r, sku)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"sku": article.SKU, "available": article.Stock > 0})
	})
	service.Main(router)
}
