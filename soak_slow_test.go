package redline_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// largePaths are those of the large answer, each in a way of its own.
var largePaths = []string{"/big", "/static", "/bytes", "/parts", "/file"}

func (c *soakConn) large() string { return largePaths[c.rand.IntN(len(largePaths))] }

// A dawdler reads a little at a time, and pauses now and then.
type dawdler struct {
	c    *soakConn
	r    io.Reader
	most int           // bytes at a time
	wait time.Duration // of a pause
	rare int           // one read in so many is behind a pause
}

func (d dawdler) Read(p []byte) (int, error) {
	if d.c.rand.IntN(d.rare) == 0 {
		d.c.pause(d.wait)
	}
	return d.r.Read(p[:min(len(p), d.most)])
}

// wantLarge reads the head of a large answer, and then the answer, slowly.
func (c *soakConn) wantLarge() (resp *http.Response, err error) {
	if resp, err = http.ReadResponse(c.r, nil); err != nil {
		return nil, err
	}
	if resp.StatusCode != 200 {
		return nil, fmt.Errorf("status %d of a large answer", resp.StatusCode)
	}
	return resp, wantParts(dawdler{c, resp.Body, 2<<10 + c.rand.IntN(16<<10), 10 * time.Millisecond, 20})
}

// narrow has the client's system take little. Much less, and loopback's large segments
// would not fit: each of them would wait for the sender to try again.
func (c *soakConn) narrow() { maybe(c.tcp.SetReadBuffer(64 << 10)) }

// next wants the connection to be of use for another request.
func (c *soakConn) next() error {
	n := fmt.Sprint(c.rand.Uint64())
	if err := c.text(get, "/id/"+n); err != nil {
		return err
	}
	if err := c.answer(n); err != nil {
		return fmt.Errorf("the next request: %w", err)
	}
	return nil
}

// readsSlowly takes large answers in a small window, one behind the other, or leaves
// in the middle.
func readsSlowly(c *soakConn) error {
	c.narrow()
	paths := []string{c.large(), c.large()}
	if err := c.text(get+get, paths[0], paths[1]); err != nil {
		return err
	}
	for _, path := range paths {
		if c.rand.IntN(4) == 0 {
			maybe(justNow(c.r.Discard(c.rand.IntN(len(soakWhole)))))
			return nil
		}
		if _, err := c.wantLarge(); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return c.next()
}

// justNow is the error of a call of which nothing else is wanted.
func justNow(_ int, err error) error { return err }

// halfClosesLarge ends its side while a large answer is on its way.
func halfClosesLarge(c *soakConn) error {
	path := c.large()
	if err := c.text(get, path); err != nil {
		return err
	}
	if c.rand.IntN(2) == 0 {
		if _, err := c.r.Peek(1); err != nil {
			return err
		}
	}
	if err := c.tcp.CloseWrite(); err != nil {
		return err
	}
	if _, err := c.wantLarge(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return c.wantEnd()
}

// wantEnd wants nothing more but the end.
func (c *soakConn) wantEnd() error {
	if rest, err := io.ReadAll(c.r); err != nil || len(rest) > 0 {
		return fmt.Errorf("%.80q (%d bytes) behind the last answer, %w", rest, len(rest), err)
	}
	return nil
}

// halfClosesStream ends its side during a stream, and takes what still comes: events in
// their order.
func halfClosesStream(c *soakConn) error {
	if err := c.text(get, "/stream"); err != nil {
		return err
	}
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return err
	}
	body := bufio.NewReader(resp.Body)
	read := func() (string, error) { return body.ReadString('\n') }
	c.pause(2 * time.Millisecond)
	if err := c.tcp.CloseWrite(); err != nil {
		return err
	}
	return wantEvents(read, 500)
}

// halfClosesContent ends its side within content: that is nobody's request.
func halfClosesContent(c *soakConn) error {
	head := "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5000\r\n\r\n"
	if c.rand.IntN(2) == 0 {
		head = "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n"
	}
	if err := c.text("%s%s", head, strings.Repeat("x", c.rand.IntN(5000))); err != nil {
		return err
	}
	c.pause(2 * time.Millisecond)
	if err := c.tcp.CloseWrite(); err != nil {
		return err
	}
	resp, err := http.ReadResponse(c.r, nil)
	if err == nil && resp.StatusCode != 400 {
		return fmt.Errorf("status %d for content that ended early", resp.StatusCode)
	}
	c.drain()
	return nil
}

// halfClosesPipelined ends its side behind many requests: all of them are answered.
func halfClosesPipelined(c *soakConn) error {
	var b strings.Builder
	var want []string
	for range 1 + c.rand.IntN(30) {
		n := fmt.Sprint(c.rand.Uint64())
		switch c.rand.IntN(8) {
		case 0:
			fmt.Fprintf(&b, get, "/sleep/"+n)
		case 1:
			fmt.Fprintf(&b, get, c.large())
			n = ""
		default:
			fmt.Fprintf(&b, get, "/id/"+n)
		}
		want = append(want, n)
	}
	sent := make(chan error, 1)
	go func() {
		err := c.text("%s", b.String())
		if err == nil {
			err = c.tcp.CloseWrite()
		}
		sent <- err
	}()
	for i, n := range want {
		var err error
		if n == "" {
			_, err = c.wantLarge()
		} else {
			err = c.answer(n)
		}
		if err != nil {
			return fmt.Errorf("answer %d of %d: %w", i, len(want), err)
		}
	}
	if err := <-sent; err != nil {
		return err
	}
	return c.wantEnd()
}

// earlyReset asks and resets, before or while the server looks.
func earlyReset(c *soakConn) error {
	request := fmt.Sprintf(get, c.large())
	switch c.rand.IntN(5) {
	case 0:
		request = fmt.Sprintf(get+get, "/stream", c.large())
	case 1:
		request = "POST /drop HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", c.rand.IntN(50_000))
	case 2:
		request = strings.Repeat(fmt.Sprintf(get, "/sleep/1"), 3)
	case 3:
		request = fmt.Sprintf(get, "/hijack")
	}
	maybe(c.text("%s", request))
	if c.rand.IntN(2) == 0 {
		c.pause(500 * time.Microsecond)
	}
	return c.tcp.SetLinger(0)
}

// deaf asks for much and reads nothing of it for a while; then some, or nothing ever.
func deaf(c *soakConn) error {
	c.narrow()
	path := c.large()
	many := strings.Repeat(fmt.Sprintf(get, path), 1+c.rand.IntN(200))
	if err := c.text("%s", many); err != nil {
		return err
	}
	c.pause(200 * time.Millisecond)
	if c.rand.IntN(2) == 0 {
		return nil
	}
	if _, err := c.wantLarge(); err != nil {
		return fmt.Errorf("%s, after a while: %w", path, err)
	}
	return nil
}

// narrowWindow takes the beginning of a large answer in a tiny window, pauses, and leaves.
func narrowWindow(c *soakConn) error {
	path := c.large()
	if err := c.text(get, path); err != nil {
		return err
	}
	c.pause(50 * time.Millisecond)
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil || resp.StatusCode != 200 {
		return fmt.Errorf("%s: %v, %w", path, resp, err)
	}
	_, err = io.CopyN(io.Discard, resp.Body, int64(c.rand.IntN(16<<10)))
	return err
}

// trickles sends and takes a request and its answer byte by byte.
func trickles(c *soakConn) error {
	const body = "byte by byte"
	request := fmt.Sprintf("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if c.rand.IntN(2) == 0 {
		request = "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
		for i := range body {
			request += fmt.Sprintf("1;x=y\r\n%s\r\n", body[i:i+1])
		}
		request += "0\r\nTrailing: field\r\n\r\n"
	}
	for i := range request {
		if err := c.text("%s", request[i:i+1]); err != nil {
			return err
		}
		if c.rand.IntN(20) == 0 {
			c.pause(2 * time.Millisecond)
		}
	}
	c.r = bufio.NewReader(dawdler{c, c.Conn, 1, time.Millisecond, 50})
	if err := c.answer(body); err != nil {
		return err
	}
	return c.next()
}

// tricklesAtStream has a stream go on while the head of its next request comes byte by
// byte.
func tricklesAtStream(c *soakConn) error {
	c.narrow()
	if err := c.text(get, "/parts"); err != nil {
		return err
	}
	n := fmt.Sprint(c.rand.Uint64())
	sent := make(chan error, 1)
	go func() {
		request := fmt.Sprintf(get, "/id/"+n)
		for i := range request {
			if err := c.text("%s", request[i:i+1]); err != nil {
				sent <- err
				return
			}
			time.Sleep(100 * time.Microsecond)
		}
		sent <- nil
	}()
	if _, err := c.wantLarge(); err != nil {
		return err
	}
	if err := c.answer(n); err != nil {
		return err
	}
	return <-sent
}

// unread is content that a handler answers without a look at it, and as much as its
// server is sure to take nevertheless.
func (c *soakConn) unread() (head, content string) {
	content = strings.Repeat("0123456789abcdef", c.rand.IntN(8<<10))
	if c.rand.IntN(2) == 0 {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", c.large(), len(content)), content
	}
	head = fmt.Sprintf("POST %s HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", c.large())
	if content == "" {
		return head, "0\r\n\r\n"
	}
	return head, fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(content), content)
}

// answeredEarly sends content while it takes an answer that does not wait for it.
func answeredEarly(c *soakConn) error {
	head, content := c.unread()
	sent := make(chan error, 1)
	go func() { sent <- c.text("%s%s", head, content) }()
	resp, err := c.wantLarge()
	if err != nil {
		return fmt.Errorf("%.60q: %w", head, err)
	}
	if err := <-sent; err != nil || resp.Close {
		return nil // the server has said that it closes
	}
	return c.next()
}

// answeredEarlySlowly sends its content when it has got the answer, if the server is
// one to answer before it has all of it.
func answeredEarlySlowly(c *soakConn) error {
	head, content := c.unread()
	if err := c.text("%s", head); err != nil {
		return err
	}
	sent := make(chan error, 1)
	wait := time.Duration(c.rand.Int64N(int64(20 * time.Millisecond)))
	go func() {
		time.Sleep(wait)
		sent <- c.text("%s", content)
	}()
	resp, err := c.wantLarge()
	if err != nil {
		return fmt.Errorf("%.60q: %w", head, err)
	}
	if err := <-sent; err != nil || resp.Close {
		return nil
	}
	return c.next()
}
