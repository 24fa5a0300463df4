// Command parcel-quotes answers what it costs to send an article. A service of the warehouse knows
// how heavy it is.
package main

import (
	"fmt"
	"hash/fnv"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/pprof"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/valyala/fasthttp"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

const (
	articles = 2000
	timeout  = 10 * time.Second
)

// Warehouse asks the service of the warehouse.
type Warehouse struct {
	base   string
	client *fasthttp.HostClient
}

// newWarehouse returns a client of the service at HOST:PORT.
func newWarehouse(addr string) *Warehouse {
	return &Warehouse{"http://" + addr, &fasthttp.HostClient{
		Addr:                          addr,
		MaxConns:                      streams,
		MaxConnWaitTimeout:            timeout,
		MaxIdleConnDuration:           time.Minute,
		NoDefaultUserAgentHeader:      true,
		DisableHeaderNamesNormalizing: true,
	}}
}

// grams returns the weight of an article.
func (wh *Warehouse) grams(sku string) (int, error) {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI(wh.base + "/stock/" + sku)
	if err := wh.client.Do(req, resp); err != nil {
		return 0, fmt.Errorf("ask the warehouse: %w", err)
	}
	if code := resp.StatusCode(); code != http.StatusOK {
		return 0, fmt.Errorf("ask the warehouse: status %d", code)
	}
	h := fnv.New32a()
	_, _ = h.Write(resp.Body())
	return 50 + int(h.Sum32()%20_000), nil
}

// cents is the price of a parcel.
func cents(grams int) int {
	for _, step := range []struct{ grams, cents int }{{500, 299}, {2000, 499}, {5000, 699}, {10_000, 1049}} {
		if grams <= step.grams {
			return step.cents
		}
	}
	return 1899
}

func main() {
	wh := newWarehouse(service.Backend())
	e := echo.New()
	e.HideBanner = true
	e.GET("/healthz", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	e.GET("/quote", func(c echo.Context) error {
		sku := c.QueryParam("sku")
		if sku == "" {
			sku = "A-" + strconv.Itoa(rand.IntN(articles))
		}
		grams, err := wh.grams(sku)
		if err != nil {
			log.Print(err)
			return c.String(http.StatusBadGateway, "the warehouse does not answer")
		}
		b := strconv.AppendInt([]byte(`{"grams":`), int64(grams), 10)
		b = strconv.AppendInt(append(b, `,"cents":`...), int64(cents(grams)), 10)
		return c.Blob(http.StatusOK, "application/json", append(b, '}'))
	})
	e.GET("/debug/pprof/*", echo.WrapHandler(http.HandlerFunc(pprof.Index)))
	e.GET("/debug/pprof/profile", echo.WrapHandler(http.HandlerFunc(pprof.Profile)))
	e.GET("/debug/pprof/trace", echo.WrapHandler(http.HandlerFunc(pprof.Trace)))
	service.Main(e)
}
