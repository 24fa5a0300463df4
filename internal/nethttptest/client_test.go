package nethttptest

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"
)

// probeRequest is what a client sends to see whether its connection is still open.
// probeHeader marks the answer.
const (
	probeHeader  = "X-Probe"
	probePath    = "/.probe"
	probeRequest = "GET " + probePath + " HTTP/1.1\r\nHost: probe\r\nConnection: close\r\n\r\n"
)

// A client plays one connection's part of a script.
type client struct {
	conn  *net.TCPConn
	over  net.Conn // what it reads and writes: conn, or TLS over it
	addr  string
	heads []int       // final answers that are to HEAD
	fate  string      // empty as long as the script has not ended it
	h2    *translator // of scripts for HTTP/1, if it speaks HTTP/2

	mu    sync.Mutex
	more  *sync.Cond
	got   []byte
	eof   bool
	cut   bool   // the end was a reset
	bare  bool   // or of the stream, and not of TLS
	left  bool   // what comes is no longer taken
	stuck string // what was waited for in vain
}

// dialClient connects, with TLS if there is a configuration, and takes what comes until the
// connection ends.
func dialClient(addr net.Addr, secure *tls.Config) (*client, error) {
	conn, err := net.DialTimeout("tcp", addr.String(), patience)
	if err != nil {
		return nil, err
	}
	c := &client{conn: conn.(*net.TCPConn), over: conn, addr: conn.LocalAddr().String()}
	c.more = sync.NewCond(&c.mu)
	if err := conn.SetDeadline(time.Now().Add(2 * patience)); err != nil {
		conn.Close()
		return nil, err
	}
	if secure != nil {
		if err := c.secure(secure); err != nil {
			conn.Close()
			return nil, err
		}
	}
	go c.take()
	return c, nil
}

func (c *client) take() {
	p := make([]byte, 64<<10)
	for {
		n, err := c.over.Read(p)
		c.mu.Lock()
		if !c.left {
			c.got = append(c.got, p[:n]...)
		}
		c.eof, c.cut, c.bare = err != nil, errors.Is(err, syscall.ECONNRESET), err != nil && c.truncated(err)
		c.more.Broadcast()
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// head implements what parseAnswers asks.
func (c *client) head(final int) bool {
	for _, i := range c.heads {
		if i == final {
			return true
		}
	}
	return false
}

// wait waits until something holds of what has come, or the connection has ended.
// The latter is no failure: the outcome will show it.
func (c *client) wait(what string, ok func(answers []answer, rest []byte) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	late := time.AfterFunc(patience, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stuck = what
		c.more.Broadcast()
	})
	defer late.Stop()
	for {
		got, eof := c.got, c.eof
		c.mu.Unlock() // what comes is taken meanwhile: servers do not wait for long
		done := c.satisfied(got, eof, ok)
		c.mu.Lock()
		if done || eof || c.stuck != "" {
			return
		}
		if len(c.got) == len(got) && !c.eof {
			c.more.Wait()
		}
	}
}

// satisfied reports whether nothing more is to be waited for.
func (c *client) satisfied(got []byte, eof bool, ok func(answers []answer, rest []byte) bool) bool {
	if c.h2 == nil {
		return ok(parseAnswers(got, eof, c.head))
	}
	t := parseFrames(got)
	return t.failed() || ok(t.answers, nil)
}

// finals counts the whole final answers.
func finals(answers []answer) (n int) {
	for _, a := range answers {
		if a.whole && !a.informational() {
			n++
		}
	}
	return n
}

func (c *client) awaitEOF() {
	c.wait("the end of the connection", func([]answer, []byte) bool { return false })
}

// wasReset reports whether the connection has ended with a reset.
func (c *client) wasReset() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut
}

// send writes bytes. That the server has closed already is no failure.
func (c *client) send(s string) {
	if c.h2 != nil {
		s = c.h2.add(s)
	}
	c.sendRaw(s)
}

func (c *client) sendRaw(s string) {
	_, _ = io.WriteString(c.over, s)
}

// probe asks once more, and tells by the answer whether the connection was open.
func (c *client) probe() {
	if c.h2 != nil {
		c.probeFrames()
		return
	}
	c.send(probeRequest)
	c.awaitEOF()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fate = "closed"
	if answers, _ := parseAnswers(c.got, c.eof, c.head); len(answers) > 0 && answers[len(answers)-1].get(probeHeader) != "" {
		c.fate = "open"
	}
}

// probeFrames is probe over HTTP/2: it asks on a stream of its own.
func (c *client) probeFrames() {
	const stream = 1 << 16
	c.sendRaw(asks(stream+1, "GET", probePath))
	c.wait("the last answer", func(answers []answer, _ []byte) bool {
		return finals(answers) > 0 && answers[len(answers)-1].get(probeHeader) != "" || c.talk().goAway != ""
	})
	c.fate = "closed"
	if t := c.talk(); len(t.answers) > 0 && t.answers[len(t.answers)-1].get(probeHeader) != "" {
		c.fate = "open"
	}
}

// talk is what has been received so far.
func (c *client) talk() *talk {
	c.mu.Lock()
	got := c.got
	c.mu.Unlock()
	return parseFrames(got)
}

// outcome is what the client knows at the end.
func (c *client) outcome() (k connOutcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k.fate = c.fate
	if c.stuck != "" {
		k.fate = "stuck waiting for " + c.stuck
	}
	var answers []answer
	if c.h2 == nil {
		var rest []byte
		answers, rest = parseAnswers(c.got, c.eof, c.head)
		k.rest = strings.Clone(string(rest))
	} else {
		t := parseFrames(c.got)
		answers, k.notes, k.http2 = t.answers, t.notes, true
		if t.goAway != "" {
			k.fate = "GOAWAY " + t.goAway
		}
	}
	if c.bare {
		k.notes = append(k.notes, withoutNotify)
	}
	for _, a := range answers {
		if a.get(probeHeader) == "" {
			k.answers = append(k.answers, a)
		}
	}
	return k
}
