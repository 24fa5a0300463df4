// Command checkout computes the total of a cart.
package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

type coupon struct{ Percent int }

type line struct {
	SKU           string
	Cents, Pieces int
	Coupon        *coupon
}

// parse reads a line "SKU;CENTS;PIECES" or "SKU;CENTS;PIECES;PERCENT".
func parse(text string) (l line, err error) {
	sku, rest, _ := strings.Cut(text, ";")
	cents, rest, _ := strings.Cut(rest, ";")
	pieces, percent, some := strings.Cut(rest, ";")
	l.SKU = sku
	if l.Cents, err = strconv.Atoi(cents); err != nil {
		return l, err
	}
	if l.Pieces, err = strconv.Atoi(pieces); err != nil || !some {
		return l, err
	}
	l.Coupon = &coupon{}
	l.Coupon.Percent, err = strconv.Atoi(percent)
	return l, err
}

// sum adds the lines of a cart.
func sum(cart io.Reader) (total, off int, err error) {
	lines := bufio.NewScanner(io.LimitReader(cart, 64<<10))
	for lines.Scan() {
		l, err := parse(lines.Text())
		if err != nil {
			return 0, 0, fmt.Errorf("line %q: %w", lines.Text(), err)
		}
		total += l.Cents * l.Pieces
		off += discount(l)
	}
	return total, off, lines.Err()
}

func main() {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.GET("/healthz", gin.WrapF(service.Health))
	r.POST("/checkout", func(c *gin.Context) {
		total, off, err := sum(c.Request.Body)
		if err != nil {
			c.String(http.StatusBadRequest, "cart is not valid: %v", err)
			return
		}
		c.String(http.StatusOK, "%d;%d", total-off, off)
	})
	service.Main(r)
}
