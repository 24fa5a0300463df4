package redline_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

func polite(c *soakConn) error {
	for range 1 + c.rand.IntN(20) {
		path, n := []string{"/id/", "/sleep/"}[c.rand.IntN(20)/19], fmt.Sprint(c.rand.Uint64())
		if err := c.text(get, path+n); err != nil {
			return err
		}
		if err := c.answer(n); err != nil {
			return err
		}
	}
	return nil
}

func pipelines(c *soakConn) error {
	var b strings.Builder
	var want []string
	for range 1 + c.rand.IntN(50) {
		path, n := []string{"/id/", "/sleep/"}[c.rand.IntN(30)/29], fmt.Sprint(c.rand.Uint64())
		fmt.Fprintf(&b, get, path+n)
		want = append(want, n)
	}
	for text := b.String(); text != ""; {
		k := 1 + c.rand.IntN(len(text)) // in as many pieces as it takes
		if err := c.text("%s", text[:k]); err != nil {
			return err
		}
		text = text[k:]
	}
	for i, n := range want {
		if err := c.answer(n); err != nil {
			return fmt.Errorf("answer %d of %d: %w", i, len(want), err)
		}
	}
	return nil
}

// floods sends more than it will ever read.
func floods(c *soakConn) error {
	many := strings.Repeat(fmt.Sprintf(get, "/id/1"), 2000)
	maybe(c.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)))
	maybe(c.text("%s", many))
	if c.rand.IntN(2) == 0 {
		maybe(c.tcp.CloseWrite())
		c.drain()
	}
	return nil
}

func resets(c *soakConn) error {
	request := fmt.Sprintf(get, "/big")
	maybe(c.text("%s", request[:c.rand.IntN(len(request))+1]))
	if c.rand.IntN(2) == 0 {
		c.pause(time.Millisecond)
	}
	return c.tcp.SetLinger(0)
}

func halfCloses(c *soakConn) error {
	if err := c.text(get, "/id/half"); err != nil {
		return err
	}
	if err := c.tcp.CloseWrite(); err != nil {
		return err
	}
	if err := c.answer("half"); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, c.r)
	return err
}

func slowBody(c *soakConn) error {
	const body = "drop by drop"
	if err := c.text("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", len(body)); err != nil {
		return err
	}
	for i := range body {
		c.pause(10 * time.Millisecond)
		if c.rand.IntN(100) == 0 {
			return nil // and never finishes
		}
		if err := c.text("%s", body[i:i+1]); err != nil {
			return err
		}
	}
	return c.answer(body)
}

func chunkedBody(c *soakConn) error {
	body := make([]byte, c.rand.IntN(256<<10))
	for i := range body {
		body[i] = byte(c.rand.Uint32())
	}
	b := bytes.NewBufferString("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
	for rest := body; len(rest) > 0; {
		k := min(len(rest), 1+c.rand.IntN(64<<10))
		fmt.Fprintf(b, "%x\r\n%s\r\n", k, rest[:k])
		rest = rest[k:]
	}
	b.WriteString("0\r\n\r\n" + fmt.Sprintf(get, "/id/next"))
	for b.Len() > 0 {
		if _, err := c.Write(b.Next(1 + c.rand.IntN(32<<10))); err != nil {
			return err
		}
	}
	if err := c.answer(string(body)); err != nil {
		return err
	}
	return c.answer("next")
}

func expects(c *soakConn) error {
	if err := c.text("POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"); err != nil {
		return err
	}
	line, err := c.r.ReadString('\n')
	if err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		return fmt.Errorf("%q, %w", line, err)
	}
	if _, err := c.r.ReadString('\n'); err != nil {
		return err
	}
	if err := c.text("body"); err != nil {
		return err
	}
	return c.answer("body")
}

// abortedUpload leaves in the middle.
func abortedUpload(c *soakConn) error {
	path := []string{"/echo", "/drop"}[c.rand.IntN(2)]
	maybe(c.text("POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n", path))
	maybe(c.text("%s", strings.Repeat("x", c.rand.IntN(500_000))))
	return nil
}

// droppedUpload sends what the handler does not read. The answer may come before
// all is sent, and the connection may then end.
func droppedUpload(c *soakConn) error {
	maybe(c.text("POST /drop HTTP/1.1\r\nHost: h\r\nContent-Length: 400000\r\n\r\n%s", strings.Repeat("x", 400_000)))
	return nil
}

func garbage(c *soakConn) error {
	b := make([]byte, c.rand.IntN(100<<10))
	for i := range b {
		b[i] = byte(c.rand.Uint32())
	}
	_, err := c.Write(b)
	maybe(err)
	maybe(c.tcp.CloseWrite())
	c.drain()
	return nil
}

// mutated sends requests with a byte changed, or left out.
func mutated(c *soakConn) error {
	b := []byte(fmt.Sprintf(get, "/id/1") + "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
	if i := c.rand.IntN(len(b)); c.rand.IntN(2) == 0 {
		b[i] = byte(c.rand.Uint32())
	} else {
		b = slices.Delete(b, i, i+1)
	}
	_, err := c.Write(b)
	maybe(err)
	maybe(c.tcp.CloseWrite())
	c.drain()
	return nil
}

// slowReader takes a little of a large answer now and then, and leaves.
func slowReader(c *soakConn) error {
	maybe(c.tcp.SetReadBuffer(4 << 10))
	if err := c.text(get, "/big"); err != nil {
		return err
	}
	for range c.rand.IntN(10) {
		if _, err := c.r.Discard(1000); err != nil {
			return err
		}
		c.pause(20 * time.Millisecond)
	}
	return nil
}

func readsBig(c *soakConn) error {
	if err := c.text(get, "/big"); err != nil {
		return err
	}
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return err
	}
	return wantParts(resp.Body)
}

func readsStream(c *soakConn) error {
	if err := c.text(get, "/stream"); err != nil {
		return err
	}
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return err
	}
	body := bufio.NewReader(resp.Body)
	return wantEvents(func() (string, error) { return body.ReadString('\n') }, 1000)
}

// leavesStream asks for a stream, with a request behind it, and goes.
func leavesStream(c *soakConn) error {
	maybe(c.text(get+get, "/stream", "/id/1"))
	c.pause(2 * time.Millisecond)
	return nil
}

func leavesSleeper(c *soakConn) error {
	maybe(c.text(get+get, "/sleep/1", "/sleep/2"))
	c.pause(5 * time.Millisecond)
	return nil
}

func panics(c *soakConn) error {
	path := []string{"/panic", "/panic/late", "/panic/midway", "/abort", "/short"}[c.rand.IntN(5)]
	if err := c.text(get, path); err != nil {
		return err
	}
	if resp, err := http.ReadResponse(c.r, nil); err == nil {
		if body, err := io.ReadAll(resp.Body); err == nil && resp.StatusCode == 200 {
			return fmt.Errorf("%s looks well: %d bytes", path, len(body))
		}
	}
	c.drain()
	return nil
}

func hijacks(c *soakConn) error {
	if err := c.text(get+"early ", "/hijack"); err != nil {
		return err
	}
	c.pause(2 * time.Millisecond)
	if err := c.text("and late\n"); err != nil {
		return err
	}
	if line, err := c.r.ReadString('\n'); err != nil || line != "early and late\n" {
		return fmt.Errorf("%q, %w", line, err)
	}
	return nil
}

// silent waits for the server to lose its patience.
func silent(c *soakConn) error {
	half := fmt.Sprintf(get, "/id/1")
	maybe(c.text("%s", half[:c.rand.IntN(len(half))]))
	c.drain()
	return nil
}
