// Command market-board serves the prices of a region's market. Another service knows them, and
// is asked again and again for all regions.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	_ "net/http/pprof"
	"sync"
	"time"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

const (
	regions = 12
	pause   = 80 * time.Millisecond // between two rounds of questions
	limit   = 64 << 10              // bytes of a page
)

var errRegion = errors.New("no such region")

// Board holds the current page of each region.
type Board struct {
	source string
	client *http.Client

	mu    sync.RWMutex
	pages map[string][]byte
}

func region(i int) string { return fmt.Sprintf("region-%02d", i) }

// Page returns the page of a region. It must not be changed.
func (b *Board) Page(name string) ([]byte, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	page, ok := b.pages[name]
	if !ok {
		return nil, errRegion
	}
	return page, nil
}

// fetch asks the source for one region.
func (b *Board) fetch(ctx context.Context, name string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.source+"/stock/"+name, nil)
	if err != nil {
		return nil, err
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", name, resp.Status)
	}
	return io.ReadAll(io.LimitReader(resp.Body, limit))
}

// follow keeps the board current until ctx ends.
func (b *Board) follow(ctx context.Context) {
	for {
		if err := b.refresh(ctx); err != nil && ctx.Err() == nil {
			log.Print(err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

func (b *Board) serve(w http.ResponseWriter, r *http.Request) {
	name := r.FormValue("region")
	if name == "" {
		name = region(rand.IntN(regions))
	}
	page, err := b.Page(name)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(page)
}

func main() {
	b := &Board{
		source: "http://" + service.Backend(), client: &http.Client{Timeout: 5 * time.Second},
		pages: map[string][]byte{},
	}
	ctx := context.Background()
	for i := range regions {
		page, err := b.fetch(ctx, region(i))
		if err != nil {
			log.Fatal(err)
		}
		b.pages[region(i)] = page
	}
	go b.follow(ctx)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", service.Health)
	mux.HandleFunc("GET /board", b.serve)
	service.MainAdmin(mux, http.DefaultServeMux)
}
