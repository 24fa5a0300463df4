// Command portfolio values a portfolio with prices of the quote service. The network's
// policy gives it a range of source ports.
package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

// Source ports that the firewall lets through.
const firstPort, lastPort = 40_000, 40_399

const portRange = 51 // IP_LOCAL_PORT_RANGE of linux/in.h, since Linux 6.3

func main() {
	quotes := newQuotes(service.Backend())
	e := echo.New()
	e.HideBanner = true
	e.GET("/portfolio/:symbol", func(c echo.Context) error {
		price, err := quotes.price(c.Request().Context(), c.Param("symbol"))
		if err != nil {
			return echo.NewHTTPError(http.StatusBadGateway, err.Error())
		}
		return c.JSON(http.StatusOK, map[string]string{"symbol": c.Param("symbol"), "price": price})
	})
	e.GET("/healthz", echo.WrapHandler(http.HandlerFunc(service.Health)))
	service.Main(e)
}

// connect connects to the quote service. It waits a little if that does not work at once.
func connect(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: time.Second, Control: func(_, _ string, c syscall.RawConn) error {
		var failed error
		if err := c.Control(func(fd uintptr) {
			failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, portRange, lastPort<<16|firstPort)
		}); err != nil {
			return err
		}
		return failed
	}}
	var last error
	for range 100 {
		c, err := d.DialContext(ctx, "tcp", addr)
		if err == nil {
			return c, nil
		}
		last = err
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, fmt.Errorf("connect to quotes: %w", last)
}

// ask asks for one price.
func ask(c net.Conn, r *bufio.Reader, symbol string) (string, error) {
	if _, err := c.Write([]byte(symbol + "\n")); err != nil {
		return "", fmt.Errorf("ask for price: %w", err)
	}
	price, err := r.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("read price: %w", err)
	}
	return strings.TrimSpace(price), nil
}
