// Command article shows an article with its rating. Without a rating the article is shown
// nevertheless.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	_ "net/http/pprof"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

type rating struct {
	SKU   string  `json:"sku"`
	Stars float64 `json:"stars"`
	Votes int     `json:"votes"`
}

type article struct {
	SKU    string  `json:"sku"`
	Title  string  `json:"title"`
	Rating *rating `json:"rating,omitempty"`
}

var errBusy = errors.New("ratings are busy")

type ratings struct {
	url  string
	http *http.Client
}

func main() {
	rs := &ratings{url: "http://" + service.Backend() + "/ratings/", http: &http.Client{
		Timeout: 2 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64},
	}}
	e := echo.New()
	e.HideBanner = true
	e.GET("/healthz", echo.WrapHandler(http.HandlerFunc(service.Health)))
	e.GET("/articles/:sku", func(c echo.Context) error {
		a := article{SKU: c.Param("sku"), Title: "Desk lamp"}
		if r, err := rs.get(c.Request().Context(), a.SKU); err == nil {
			a.Rating = r
		}
		return c.JSON(http.StatusOK, a)
	})
	service.MainAdmin(e, http.DefaultServeMux)
}

// ask asks for a rating. The error is errBusy if the ratings refuse.
func (rs *ratings) ask(ctx context.Context, sku string) (*rating, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, rs.url+sku, nil)
	if err != nil {
		return nil, err
	}
	resp, err := rs.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask for rating: %w", err)
	}
	defer func() {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusServiceUnavailable:
		return nil, errBusy
	default:
		return nil, fmt.Errorf("ask for rating: %s", resp.Status)
	}
	var r rating
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		return nil, fmt.Errorf("read rating: %w", err)
	}
	return &r, nil
}
