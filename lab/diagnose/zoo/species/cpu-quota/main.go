// Command tariffs computes the monthly rate of a loan.
package main

import (
	"fmt"
	"math"
	"net/http"
	_ "net/http/pprof"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

type offer struct {
	Months int
	Cents  int64
}

func main() {
	r := chi.NewRouter()
	r.Get("/offers/{euros}", func(w http.ResponseWriter, r *http.Request) {
		euros, err := strconv.Atoi(chi.URLParam(r, "euros"))
		if err != nil || euros < 1000 || euros > 1_000_000 {
			http.Error(w, "the amount is from 1000 to 1000000", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		for months := 12; months <= 120; months += 12 {
			o := rate(float64(euros), months)
			fmt.Fprintf(w, "%d %d.%02d\n", o.Months, o.Cents/100, o.Cents%100)
		}
	})
	r.Get("/healthz", service.Health)
	service.MainAdmin(r, http.DefaultServeMux)
}

// rate finds the monthly payment that pays a loan back, by bisection.
func rate(amount float64, months int) offer {
	const interest = 0.049 / 12
	low, high := 0.0, amount
	for range 60 {
		payment := (low + high) / 2
		left := amount
		for range months {
			left += left*interest - payment
		}
		if left > 0 {
			low = payment
		} else {
			high = payment
		}
	}
	return offer{Months: months, Cents: int64(math.Round(high * 100))}
}
