// Command shelf-gateway answers whether an article is in stock, for tills that need no more than
// that. The service of the stock answers with the whole record of an article.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

const (
	articles = 3000
	timeout  = 5 * time.Second
	head     = 256 // bytes of a record in which the fields are that a till needs
)

var (
	errRecord = errors.New("the record has no stock")
	heads     = sync.Pool{New: func() any { b := make([]byte, head); return &b }}
)

// Stock asks the service of the stock.
type Stock struct {
	base   string
	client http.Client
}

func newStock(addr string) *Stock {
	return &Stock{"http://" + addr, http.Client{
		Timeout:   timeout,
		Transport: &http.Transport{MaxIdleConns: 1024, MaxIdleConnsPerHost: 1024, DisableCompression: true},
	}}
}

// pieces returns how many pieces of an article there are.
func (s *Stock) pieces(ctx context.Context, sku string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/stock/"+sku, nil)
	if err != nil {
		return 0, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, err
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return 0, fmt.Errorf("stock of %s: %s", sku, resp.Status)
	}
	text := heads.Get().(*[]byte)
	defer heads.Put(text)
	if err := readHead(*text, resp.Body); err != nil {
		return 0, fmt.Errorf("stock of %s: %w", sku, err)
	}
	return field(*text, `"stock":`)
}

// field returns the number after a name.
func field(text []byte, name string) (int, error) {
	_, rest, ok := bytes.Cut(text, []byte(name))
	end := bytes.IndexAny(rest, ",}")
	if !ok || end < 0 {
		return 0, errRecord
	}
	return strconv.Atoi(string(rest[:end]))
}

func main() {
	stock := newStock(service.Backend())
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.GET("/healthz", func(c *gin.Context) { c.Status(http.StatusOK) })
	r.GET("/shelf", func(c *gin.Context) {
		sku := c.Query("sku")
		if sku == "" {
			sku = "A-" + strconv.Itoa(10_000+rand.IntN(articles))
		}
		n, err := stock.pieces(c.Request.Context(), sku)
		if err != nil {
			log.Print(err)
			c.String(http.StatusBadGateway, "the stock does not answer")
			return
		}
		c.Data(http.StatusOK, "text/plain; charset=utf-8", strconv.AppendBool(nil, n > 0))
	})
	service.Main(r)
}
