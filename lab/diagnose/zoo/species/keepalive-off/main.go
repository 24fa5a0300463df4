// Command prices answers the price of an article for a customer's group.
package main

import (
	"hash/fnv"
	"net/http"
	_ "net/http/pprof"

	"github.com/gin-gonic/gin"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

type price struct {
	SKU      string `json:"sku"`
	Group    string `json:"group"`
	Cents    int64  `json:"cents"`
	Currency string `json:"currency"`
}

func main() {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.Use(gin.Recovery(), policy())
	r.GET("/prices/:sku", func(c *gin.Context) {
		sku, group := c.Param("sku"), c.DefaultQuery("group", "retail")
		h := fnv.New32a()
		_, _ = h.Write([]byte(sku))
		cents := int64(h.Sum32()%90_000) + 1000
		if group == "wholesale" {
			cents = cents * 8 / 10
		}
		c.JSON(http.StatusOK, price{SKU: sku, Group: group, Cents: cents, Currency: "EUR"})
	})
	r.GET("/healthz", gin.WrapF(service.Health))
	service.MainAdmin(r, http.DefaultServeMux)
}
