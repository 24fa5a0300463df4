// Command wishlist shows the wish list of a customer. Articles are in Redis.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/redis/go-redis/v9"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

// perList is how many articles a list has.
const perList = 25

// Lists reads wish lists.
type Lists struct{ redis *redis.Client }

// keys are the articles of a customer's list.
func (l *Lists) keys(customer int) []string {
	keys := make([]string, perList)
	for i := range keys {
		keys[i] = fmt.Sprintf("article:%d", (customer*31+i*977)%50_000)
	}
	return keys
}

// show returns the list as JSON. The articles are JSON already.
func (l *Lists) show(ctx context.Context, customer int) (string, error) {
	articles, err := l.articles(ctx, l.keys(customer))
	if err != nil {
		return "", err
	}
	return "[" + strings.Join(articles, ",") + "]", nil
}

func main() {
	lists := &Lists{redis.NewClient(&redis.Options{Addr: service.Backend(), PoolSize: 64})}
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.Use(gin.Recovery())
	router.GET("/healthz", func(c *gin.Context) { c.Status(http.StatusOK) })
	router.GET("/wishlist", func(c *gin.Context) {
		text, err := lists.show(c.Request.Context(), rand.IntN(100_000))
		if err != nil {
			c.String(http.StatusBadGateway, err.Error())
			return
		}
		c.Data(http.StatusOK, "application/json", []byte(text))
	})
	router.GET("/debug/pprof/*name", func(c *gin.Context) {
		if c.Param("name") == "/profile" {
			pprof.Profile(c.Writer, c.Request)
			return
		}
		pprof.Index(c.Writer, c.Request)
	})
	service.Main(router)
}
