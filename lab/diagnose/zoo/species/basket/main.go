// Command basket keeps what visitors of a shop want to buy. Their baskets outlive a restart.
package main

import (
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/pprof"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

const (
	maxItems = 12 // the oldest is dropped for a new one
	maxID    = 32
	articles = 900
)

// Basket is what one visitor wants: numbers of articles.
type Basket []int

// add returns the basket with an article.
func (b Basket) add(article int) Basket {
	if len(b) == maxItems {
		b = append(b[:0], b[1:]...)
	}
	return append(b, article)
}

// append appends the basket as text: the numbers, separated by commas.
func (b Basket) append(text []byte) []byte {
	for i, article := range b {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, int64(article), 10)
	}
	return text
}

// visitor returns the visitor of a request; false: the cookie is missing or wrong.
func visitor(c *gin.Context) (string, bool) {
	id, err := c.Cookie("visitor")
	return id, err == nil && id != "" && len(id) <= maxID && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

func put(baskets *Baskets) gin.HandlerFunc {
	return func(c *gin.Context) {
		id, ok := visitor(c)
		if !ok {
			c.String(http.StatusUnauthorized, "no visitor")
			return
		}
		article := rand.IntN(articles)
		if text := c.Query("article"); text != "" {
			var err error
			if article, err = strconv.Atoi(text); err != nil || article < 0 || article >= articles {
				c.String(http.StatusNotFound, "no such article")
				return
			}
		}
		text, err := baskets.put(id, article)
		if err != nil {
			log.Print(err)
			c.String(http.StatusInternalServerError, "the basket cannot be kept")
			return
		}
		c.Data(http.StatusOK, "text/plain; charset=utf-8", text)
	}
}

func main() {
	gin.SetMode(gin.ReleaseMode)
	baskets, err := newBaskets(service.File("baskets"))
	if err != nil {
		log.Fatal(err)
	}
	r := gin.New()
	r.GET("/healthz", func(c *gin.Context) { c.Status(http.StatusOK) })
	r.POST("/basket", put(baskets))
	r.GET("/debug/pprof/*name", func(c *gin.Context) {
		switch c.Param("name") {
		case "/profile":
			pprof.Profile(c.Writer, c.Request)
		case "/trace":
			pprof.Trace(c.Writer, c.Request)
		default:
			pprof.Index(c.Writer, c.Request)
		}
	})
	service.Main(r)
}
