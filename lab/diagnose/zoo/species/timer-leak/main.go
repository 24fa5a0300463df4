// Command carts keeps shopping carts in memory. A cart that nobody touches for half an hour is
// dropped.
package main

import (
	"encoding/json"
	"net/http"
	_ "net/http/pprof"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

const keep = 30 * time.Minute

type item struct {
	SKU    string `json:"sku"`
	Pieces int    `json:"pieces"`
}

type cart struct {
	mu    sync.Mutex
	items map[string]int
	drop  *time.Timer
}

type carts struct {
	mu   sync.Mutex
	byID map[string]*cart
}

func main() {
	all := &carts{byID: map[string]*cart{}}
	r := chi.NewRouter()
	r.Put("/carts/{id}", func(w http.ResponseWriter, r *http.Request) {
		var it item
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4<<10)).Decode(&it); err != nil {
			http.Error(w, "item is not valid", http.StatusBadRequest)
			return
		}
		id := chi.URLParam(r, "id")
		c := all.get(id)
		c.put(it)
		all.touch(id, c)
		w.WriteHeader(http.StatusNoContent)
	})
	r.Get("/healthz", service.Health)
	service.MainAdmin(r, http.DefaultServeMux)
}

func (a *carts) get(id string) *cart {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.byID[id]
	if c == nil {
		c = &cart{items: map[string]int{}}
		a.byID[id] = c
	}
	return c
}

func (a *carts) remove(id string, c *cart) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byID[id] == c {
		delete(a.byID, id)
	}
}

func (c *cart) put(it item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.items[it.SKU] = it.Pieces
}
