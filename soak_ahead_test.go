package redline_test

import (
	"fmt"
	"strings"
	"time"
)

func init() {
	hostilities["waits for the answer ahead"] = waitsAhead
	hostilities["deaf to a hijack"] = deafToHijack
}

// waitsAhead sends the content of a request, or of the request behind it, only when it has the
// answers to those ahead.
func waitsAhead(c *soakConn) error {
	for range 1 + c.rand.IntN(4) {
		var b strings.Builder
		var want []string
		for range 1 + c.rand.IntN(6) {
			path, n := []string{"/id/", "/sleep/"}[c.rand.IntN(6)/5], fmt.Sprint(c.rand.Uint64())
			fmt.Fprintf(&b, get, path+n)
			want = append(want, n)
		}
		body := strings.Repeat("x", 1+c.rand.IntN(20_000))
		if err := c.text("%sPOST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", b.String(), len(body)); err != nil {
			return err
		}
		for i, n := range want {
			if err := c.answer(n); err != nil {
				return fmt.Errorf("answer %d of %d ahead: %w", i, len(want), err)
			}
		}
		if err := c.text("%s", body); err != nil {
			return err
		}
		if err := c.answer(body); err != nil {
			return fmt.Errorf("the answer to content that came late: %w", err)
		}
	}
	return nil
}

// deafToHijack reads nothing of an answer, and has a handler behind it take the connection over.
func deafToHijack(c *soakConn) error {
	c.narrow()
	maybe(c.text(get+get, c.large(), "/hijack"))
	c.pause(50 * time.Millisecond)
	return nil
}
