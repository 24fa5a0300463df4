// Command logs searches the log of a shop, and streams the lines that match.
package main

import (
	"fmt"

	"github.com/gin-gonic/gin"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

func main() {
	lines := make([]string, 300)
	for i := range lines {
		lines[i] = fmt.Sprintf("2024-05-%02d %s order %d paid card=4929%012d from shop-%d", 1+i%28, []string{"INFO", "WARN", "DEBUG"}[i%3], 7000+i, i*7919, i%5)
	}
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.GET("/healthz", gin.WrapF(service.Health))
	r.GET("/search", func(c *gin.Context) {
		c.Header("Content-Type", "text/plain; charset=utf-8")
		if err := search(c.Writer, lines, c.Query("level")); err != nil {
			_ = c.Error(err)
		}
	})
	service.Main(r)
}
