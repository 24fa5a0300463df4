// Command balance converts the balance of an account at the day's rate.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	_ "net/http/pprof"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

type rate struct {
	Currency string `json:"sku"`
	Cents    int    `json:"cents"`
}

type bank struct {
	url  string
	http *http.Client
}

func main() {
	b := &bank{url: "http://" + service.Backend() + "/stock/", http: &http.Client{
		Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64},
	}}
	rs := newRates(b)
	r := chi.NewRouter()
	r.Get("/healthz", service.Health)
	r.Get("/balance/{account}/{currency}", func(w http.ResponseWriter, r *http.Request) {
		current, err := rs.get(chi.URLParam(r, "currency"))
		if err != nil {
			http.Error(w, "no rate", http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"account": chi.URLParam(r, "account"), "cents": 1000 * current.Cents, "currency": current.Currency})
	})
	service.MainAdmin(r, http.DefaultServeMux)
}

// fetch asks the bank for a rate.
func (b *bank) fetch(currency string) (rate, error) {
	resp, err := b.http.Get(b.url + currency)
	if err != nil {
		return rate{}, fmt.Errorf("ask for rate: %w", err)
	}
	defer func() {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}()
	var r rate
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		return rate{}, fmt.Errorf("read rate: %w", err)
	}
	return r, nil
}
