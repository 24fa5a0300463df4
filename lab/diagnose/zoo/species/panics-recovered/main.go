// Command checkout computes the total of a cart.
package main

import (
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

type coupon struct {
	Code    string `json:"code"`
	Percent int    `json:"percent"`
}

type line struct {
	SKU    string  `json:"sku"`
	Cents  int     `json:"cents"`
	Pieces int     `json:"pieces"`
	Coupon *coupon `json:"coupon"`
}

type cart struct {
	Lines []line `json:"lines"`
}

func main() {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.GET("/healthz", gin.WrapF(service.Health))
	r.POST("/checkout", func(c *gin.Context) {
		var in cart
		if err := c.ShouldBindJSON(&in); err != nil {
			c.String(http.StatusBadRequest, fmt.Sprint("cart is not valid: ", err))
			return
		}
		total, off := 0, 0
		for _, l := range in.Lines {
			total += l.Cents * l.Pieces
			off += discount(l)
		}
		c.JSON(http.StatusOK, gin.H{"total": total - off, "discount": off})
	})
	service.Main(r)
}
