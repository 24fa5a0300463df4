// Command shipping quotes the price of a parcel. The carrier is asked, and a table is used if
// it takes too long.
package main

import (
	"encoding/json"
	"net/http"
	_ "net/http/pprof"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

type quote struct {
	Cents  int    `json:"cents"`
	Source string `json:"source"`
}

type carrier struct {
	url  string
	http *http.Client
}

func main() {
	c := &carrier{url: "http://" + service.Backend() + "/price", http: &http.Client{
		Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64},
	}}
	r := chi.NewRouter()
	r.Get("/quote/{country}", func(w http.ResponseWriter, r *http.Request) {
		q := c.within(30*time.Millisecond, chi.URLParam(r, "country"))
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(q)
	})
	r.Get("/healthz", service.Health)
	service.MainAdmin(r, http.DefaultServeMux)
}

// ask asks the carrier.
func (c *carrier) ask(country string) quote {
	resp, err := c.http.Get(c.url + "?to=" + country)
	if err != nil {
		return table(country)
	}
	defer resp.Body.Close()
	q := quote{Source: "carrier"}
	if err := json.NewDecoder(resp.Body).Decode(&q); err != nil {
		return table(country)
	}
	return q
}

// table is the price without the carrier.
func table(country string) quote {
	if country == "de" {
		return quote{Cents: 490, Source: "table"}
	}
	return quote{Cents: 1790, Source: "table"}
}
