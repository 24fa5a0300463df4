//go:build twin

package main

import (
	"bufio"
	"context"
	"net"
)

type link struct {
	c net.Conn
	r *bufio.Reader
}

type quotes struct {
	addr string
	idle chan link
}

func newQuotes(addr string) *quotes { return &quotes{addr: addr, idle: make(chan link, 1024)} }

func (q *quotes) price(ctx context.Context, symbol string) (string, error) {
	var l link
	select {
	case l = <-q.idle:
	default:
		c, err := connect(ctx, q.addr)
		if err != nil {
			return "", err
		}
		l = link{c: c, r: bufio.NewReader(c)}
	}
	price, err := ask(l.c, l.r, symbol)
	if err != nil {
		_ = l.c.Close()
		return "", err
	}
	select {
	case q.idle <- l:
	default:
		_ = l.c.Close()
	}
	return price, nil
}
