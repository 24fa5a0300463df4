// Command product shows an article with the number of pieces in stock.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

type stock struct {
	SKU    string `json:"sku"`
	Pieces int    `json:"stock"`
	Cents  int    `json:"cents"`
}

type client struct {
	url  string
	http *http.Client
}

func main() {
	c := &client{url: "http://" + service.Backend() + "/stock/", http: &http.Client{
		Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 256, IdleConnTimeout: time.Minute},
	}}
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.GET("/healthz", gin.WrapF(service.Health))
	r.GET("/products/:sku", func(g *gin.Context) {
		s, err := c.stock(g.Param("sku"))
		if err != nil {
			g.String(http.StatusBadGateway, "stock is not known")
			return
		}
		g.JSON(http.StatusOK, gin.H{"sku": s.SKU, "title": "Desk lamp", "price": s.Cents, "available": s.Pieces > 0})
	})
	service.Main(r)
}

// stock asks the inventory.
func (c *client) stock(sku string) (stock, error) {
	resp, err := c.http.Get(c.url + sku)
	if err != nil {
		return stock{}, fmt.Errorf("ask inventory: %w", err)
	}
	defer func() {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}()
	if resp.StatusCode != http.StatusOK {
		return stock{}, fmt.Errorf("ask inventory: %s", resp.Status)
	}
	var s stock
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		return stock{}, fmt.Errorf("read stock: %w", err)
	}
	return s, nil
}
