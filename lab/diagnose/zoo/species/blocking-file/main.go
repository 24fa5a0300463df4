// Command orders receives orders, and writes each of them to a journal before it answers.
package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"sync/atomic"

	"github.com/gin-gonic/gin"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

type order struct {
	Customer string `json:"customer"`
	Lines    []struct {
		SKU    string `json:"sku"`
		Pieces int    `json:"pieces"`
	} `json:"lines"`
}

func main() {
	j, err := openJournal(service.File("orders"))
	if err != nil {
		log.Fatal(err)
	}
	var number atomic.Int64
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.POST("/orders", func(c *gin.Context) {
		body, err := io.ReadAll(io.LimitReader(c.Request.Body, 64<<10))
		if err != nil {
			c.String(http.StatusBadRequest, "order was not received")
			return
		}
		var o order
		if err := json.Unmarshal(body, &o); err != nil || len(o.Lines) == 0 {
			c.String(http.StatusBadRequest, "order is not valid")
			return
		}
		var line bytes.Buffer
		if err := json.Compact(&line, body); err != nil {
			c.String(http.StatusBadRequest, "order is not valid")
			return
		}
		line.WriteByte('\n')
		if err := j.append(line.Bytes()); err != nil {
			c.String(http.StatusInternalServerError, "order was not written")
			return
		}
		c.JSON(http.StatusCreated, gin.H{"number": number.Add(1)})
	})
	r.GET("/healthz", gin.WrapF(service.Health))
	service.Main(r)
}
