//go:build !twin

package main

import (
	"bufio"
	"context"
)

type quotes struct{ addr string }

func newQuotes(addr string) *quotes { return &quotes{addr: addr} }

func (q *quotes) price(ctx context.Context, symbol string) (string, error) {
	c, err := connect(ctx, q.addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	return ask(c, bufio.NewReader(c), symbol)
}
