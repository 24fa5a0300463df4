// Command translate translates the messages of a shop, and answers recent questions again
// without work.
package main

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gin-gonic/gin"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

type translator struct {
	mu    sync.Mutex
	known store
	asked atomic.Int64
}

func main() {
	t := &translator{known: newStore()}
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.POST("/translate", func(c *gin.Context) {
		body, err := c.GetRawData()
		if err != nil || len(body) > 16<<10 {
			c.String(http.StatusBadRequest, "text is too long")
			return
		}
		// A text with a placeholder is one for each visitor.
		text := strings.ReplaceAll(string(body), "{visitor}", fmt.Sprintf("visitor %d", t.asked.Add(1)))
		c.String(http.StatusOK, t.translate(text, c.DefaultQuery("to", "de")))
	})
	r.GET("/healthz", gin.WrapF(service.Health))
	service.Main(r)
}

func (t *translator) translate(text, to string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(to + "/" + text))
	key := h.Sum64()
	t.mu.Lock()
	defer t.mu.Unlock()
	if found, ok := t.known.get(key); ok {
		return found
	}
	words := strings.Fields(text)
	for i, w := range words {
		if dictionary[w] != "" {
			words[i] = dictionary[w]
		}
	}
	done := strings.Join(words, " ")
	t.known.put(key, done)
	return done
}

var dictionary = map[string]string{"hello": "hallo", "your": "Ihre", "order": "Bestellung", "is": "ist", "on": "auf", "its": "dem", "way": "Weg"}
