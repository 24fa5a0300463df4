//go:build twin

package main

import (
	"bufio"
	"context"
	"net"
)

// A link is a connection that is kept; c is nil until it is needed first.
type link struct {
	c net.Conn
	r *bufio.Reader
}

type quotes struct {
	addr  string
	links chan link
}

// newQuotes keeps fewer connections than there are ports: who finds none waits for one.
func newQuotes(addr string) *quotes {
	q := &quotes{addr: addr, links: make(chan link, 300)}
	for range cap(q.links) {
		q.links <- link{}
	}
	return q
}

func (q *quotes) price(ctx context.Context, symbol string) (string, error) {
	var l link
	select {
	case l = <-q.links:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { q.links <- l }()
	if l.c == nil {
		c, err := connect(ctx, q.addr)
		if err != nil {
			return "", err
		}
		l = link{c: c, r: bufio.NewReader(c)}
	}
	price, err := ask(l.c, l.r, symbol)
	if err != nil {
		_ = l.c.Close()
		l = link{}
	}
	return price, err
}
