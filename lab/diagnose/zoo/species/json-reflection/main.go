// Command orders lists the orders of a customer.
package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/pprof"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

const (
	customers = 200
	perList   = 120 // orders of a customer
)

// Order is one order.
type Order struct {
	ID       int       `json:"id"`
	Customer string    `json:"customer"`
	Placed   time.Time `json:"placed"`
	Status   string    `json:"status"`
	Cents    int64     `json:"cents"`
	Currency string    `json:"currency"`
	Paid     bool      `json:"paid"`
	Lines    []Line    `json:"lines"`
	Note     string    `json:"note,omitempty"`
}

// Line is one article of an order.
type Line struct {
	SKU    string `json:"sku"`
	Amount int    `json:"amount"`
	Cents  int64  `json:"cents"`
}

// list makes the orders of a customer.
func list(customer int) []Order {
	random := rand.New(rand.NewPCG(uint64(customer), 7))
	orders := make([]Order, perList)
	for i := range orders {
		o := Order{
			ID: customer*1000 + i, Customer: fmt.Sprintf("customer-%04d", customer),
			Placed: time.Date(2026, 1, 1+i%28, random.IntN(24), random.IntN(60), 0, 0, time.UTC),
			Status: []string{"open", "packed", "sent"}[random.IntN(3)], Currency: "EUR", Paid: i%2 == 0,
		}
		for range 3 {
			l := Line{SKU: fmt.Sprintf("A-%05d", random.IntN(100_000)), Amount: 1 + random.IntN(5), Cents: int64(random.IntN(20_000))}
			o.Cents += l.Cents * int64(l.Amount)
			o.Lines = append(o.Lines, l)
		}
		orders[i] = o
	}
	return orders
}

func main() {
	all := make([][]Order, customers)
	for i := range all {
		all[i] = list(i)
	}
	e := echo.New()
	e.HideBanner = true
	e.GET("/healthz", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	e.GET("/orders", func(c echo.Context) error {
		customer := rand.IntN(customers)
		if text := c.QueryParam("customer"); text != "" {
			var err error
			if customer, err = strconv.Atoi(text); err != nil || customer < 0 || customer >= customers {
				return c.String(http.StatusNotFound, "no such customer")
			}
		}
		return answer(c, all[customer])
	})
	e.GET("/debug/pprof/*", echo.WrapHandler(http.HandlerFunc(pprof.Index)))
	e.GET("/debug/pprof/profile", echo.WrapHandler(http.HandlerFunc(pprof.Profile)))
	e.GET("/debug/pprof/trace", echo.WrapHandler(http.HandlerFunc(pprof.Trace)))
	service.Main(e)
}
