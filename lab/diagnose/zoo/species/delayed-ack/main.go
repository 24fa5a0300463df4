// Command sessions looks up the session of a visitor in a key-value store.
package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

func main() {
	store := newPool(service.Backend(), 32)
	e := echo.New()
	e.HideBanner = true
	e.GET("/sessions/:id", func(c echo.Context) error {
		conn, err := store.get()
		if err != nil {
			return echo.NewHTTPError(http.StatusServiceUnavailable, "no store")
		}
		value, err := conn.lookup("session:" + c.Param("id"))
		if err != nil {
			_ = conn.c.Close()
			return echo.NewHTTPError(http.StatusBadGateway, "no session")
		}
		store.put(conn)
		return c.JSON(http.StatusOK, map[string]string{"id": c.Param("id"), "user": value})
	})
	e.GET("/healthz", echo.WrapHandler(http.HandlerFunc(service.Health)))
	service.Main(e)
}

// A conn is a connection to the store.
type conn struct {
	c *net.TCPConn
	r *bufio.Reader
}

// value reads an answer: its length in a line, and the value.
func (c *conn) value() (string, error) {
	head, err := c.r.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("read answer: %w", err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(head))
	if err != nil || n < 0 || n > 1<<20 {
		return "", fmt.Errorf("length %q of an answer", head)
	}
	buf := make([]byte, n)
	if _, err := io.ReadFull(c.r, buf); err != nil {
		return "", fmt.Errorf("read answer: %w", err)
	}
	return string(buf), nil
}

// A pool keeps connections for the next request.
type pool struct {
	addr string
	idle chan *conn
}

func newPool(addr string, size int) *pool {
	return &pool{addr: addr, idle: make(chan *conn, size)}
}

func (p *pool) get() (*conn, error) {
	select {
	case c := <-p.idle:
		return c, nil
	default:
		return dial(p.addr)
	}
}

func (p *pool) put(c *conn) {
	select {
	case p.idle <- c:
	default:
		_ = c.c.Close()
	}
}
