// Command shipping calculates what it costs to send the lines of an order.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

// patience is how long a calculation may take.
const patience = 2 * time.Second

// Line is one line of an order: two numbers of 16 bits in a request.
type Line struct{ Grams, Zone uint16 }

// rates are the prices in cents per kilogram.
type rates [16]int

var errZone = errors.New("no such zone")

// line calculates the price of one line.
func (r *rates) line(ctx context.Context, l Line) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if int(l.Zone) >= len(r) {
		return 0, errZone
	}
	return r[l.Zone] * (int(l.Grams) + 999) / 1000, nil
}

// read reads the lines of a request.
func read(r io.Reader) ([]Line, error) {
	body, err := io.ReadAll(io.LimitReader(r, 64<<10))
	if err != nil {
		return nil, err
	}
	lines := make([]Line, len(body)/4)
	for i := range lines {
		lines[i] = Line{binary.BigEndian.Uint16(body[4*i:]), binary.BigEndian.Uint16(body[4*i+2:]) % 16}
	}
	return lines, nil
}

func main() {
	var prices rates
	for i := range prices {
		prices[i] = 350 + 120*i
	}
	router := chi.NewRouter()
	router.Get("/healthz", service.Health)
	router.Post("/shipping", func(w http.ResponseWriter, r *http.Request) {
		lines, err := read(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		cents, err := prices.sum(r.Context(), lines)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintf(w, `{"lines":%d,"cents":%d}`, len(lines), cents)
	})
	service.Main(router)
}
