package redline_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Frames of HTTP/2 (RFC 9113, 6).
const (
	kindData, kindHeaders, kindReset, kindSettings, kindPing, kindGoAway, kindWindow, kindContinuation = 0, 1, 3, 4, 6, 7, 8, 9

	endStream, ackFlag, endHeaders = 1, 1, 4

	preface2 = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
)

func frame2(kind, flags byte, id uint32, payload string) string {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	return string(binary.BigEndian.AppendUint32(b, id)) + payload
}

func word2(kind byte, id, word uint32) string {
	return frame2(kind, 0, id, string(binary.BigEndian.AppendUint32(nil, word)))
}

// hello2 begins a connection; the streams' windows have window bytes.
func hello2(window uint32) string {
	return preface2 + frame2(kindSettings, 0, 0, "\x00\x04"+string(binary.BigEndian.AppendUint32(nil, window)))
}

// block2 is the header block of a request; first is the line of its method.
func block2(first, path string) string {
	return first + "\x86\x04" + string(rune(len(path))) + path + "\x01\x01h"
}

func get2(id uint32, path string) string {
	return frame2(kindHeaders, endStream|endHeaders, id, block2("\x82", path))
}

func post2(id uint32, path string) string {
	return frame2(kindHeaders, endHeaders, id, block2("\x83", path))
}

// any2 is a path of a handler of any kind.
func (c *soakConn) any2() string {
	all := append([]string{"/stream", "/sleep/1", "/panic", "/panic/late", "/panic/midway", "/abort", "/short", "/hijack", "/id/1"}, largePaths...)
	return all[c.rand.IntN(len(all))]
}

// client2 speaks HTTP/2 over the connection, and over no other. It ends with the connection.
func (c *soakConn) client2() *http.Client {
	var once sync.Once
	dial := func(context.Context, string, string) (nc net.Conn, err error) {
		err = errors.New("the connection has ended")
		once.Do(func() { nc, err = c.Conn, nil })
		return nc, err
	}
	tr := &http.Transport{Protocols: new(http.Protocols), DialContext: dial, DialTLSContext: dial, DisableCompression: true}
	tr.Protocols.SetHTTP2(true)
	tr.Protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: tr, Timeout: patience}
}

// polite2 has many requests of all kinds on its connection, and wants all of the answers.
func polite2(c *soakConn) error {
	client, base := c.client2(), "http://h"
	if net.Conn(c.tcp) != c.Conn {
		base = "https://h"
	}
	if err := asks2(client, base, "/id/", 0, 0); err != nil { // so that there is a connection
		return err
	}
	errs := make(chan error)
	n := 1 + c.rand.IntN(20)
	paths := append([]string{"/id/", "/sleep/", "/echo", "/drop", "/stream"}, largePaths...)
	for i := range n {
		path, size := paths[c.rand.IntN(len(paths))], c.rand.IntN(200<<10)
		go func() { errs <- asks2(client, base, path, i, size) }()
	}
	var err error
	for range n {
		err = errors.Join(err, <-errs)
	}
	return err
}

// asks2 sends one request, with content if it is for a handler that takes it.
func asks2(client *http.Client, base, path string, number, size int) error {
	var content io.Reader
	method, text, want := "GET", "", ""
	switch path {
	case "/id/", "/sleep/":
		want = fmt.Sprint(number)
		path += want
	case "/echo":
		text = strings.Repeat(fmt.Sprintf("%08d", number), size/8)
		method, want, content = "POST", text, io.MultiReader(strings.NewReader(text))
	case "/drop":
		method, want, content = "POST", "dropped", strings.NewReader(strings.Repeat("x", size))
	}
	r, err := http.NewRequest(method, base+path, content)
	if err != nil {
		return err
	}
	resp, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode != 200 || resp.ProtoMajor != 2:
		return fmt.Errorf("%s: %s %s", path, resp.Proto, resp.Status)
	case path == "/stream":
		body := bufio.NewReader(resp.Body)
		return wantEvents(func() (string, error) { return body.ReadString('\n') }, 300)
	case want == "" && path != "/echo":
		if err := wantParts(resp.Body); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	}
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != want {
		return fmt.Errorf("%s: %.40q (%d bytes), %w, want %.40q", path, got, len(got), err, want)
	}
	return nil
}

// resets2 opens streams and resets some of them.
func resets2(c *soakConn) error {
	maybe(c.text("%s", hello2(1<<20)))
	for i := range uint32(1 + c.rand.IntN(150)) {
		maybe(c.text("%s", get2(2*i+1, c.any2())))
		if c.rand.IntN(3) > 0 {
			maybe(c.text("%s", word2(kindReset, 1+2*uint32(c.rand.IntN(int(i)+1)), uint32(c.rand.IntN(14)))))
		}
		if c.rand.IntN(20) == 0 {
			c.pause(2 * time.Millisecond)
		}
	}
	return nil
}

// leaves2 opens streams and goes without a word.
func leaves2(c *soakConn) error {
	var b strings.Builder
	for i := range uint32(1 + c.rand.IntN(30)) {
		b.WriteString(get2(2*i+1, c.any2()))
	}
	maybe(c.text("%s%s", hello2(1<<20), b.String()))
	c.pause(5 * time.Millisecond)
	return nil
}

// deaf2 opens all windows, asks for much, and never reads.
func deaf2(c *soakConn) error {
	c.narrow()
	maybe(c.text("%s%s", hello2(1<<30), word2(kindWindow, 0, 1<<30)))
	maybe(c.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)))
	for i := range uint32(1 + c.rand.IntN(100)) {
		maybe(c.text("%s%s", get2(2*i+1, c.any2()), frame2(kindPing, 0, 0, "12345678")))
	}
	c.pause(300 * time.Millisecond)
	return nil
}

// smallWindow2 takes large answers a few bytes at a time, and leaves.
func smallWindow2(c *soakConn) error {
	maybe(c.text("%s", hello2(uint32(c.rand.IntN(10)))))
	for i := range uint32(5) {
		maybe(c.text("%s", get2(2*i+1, c.large())))
	}
	for range c.rand.IntN(100) {
		maybe(c.text("%s", word2(kindWindow, 1+2*uint32(c.rand.IntN(5)), 1+uint32(c.rand.IntN(5)))))
		if c.rand.IntN(10) == 0 {
			c.pause(2 * time.Millisecond)
		}
		maybe(justNow(c.r.Discard(c.r.Buffered())))
	}
	return nil
}

// floods2 sends frames that achieve nothing, until the server has had enough.
func floods2(c *soakConn) error {
	begin, flood := post2(1, "/drop"), ""
	switch c.rand.IntN(6) {
	case 0:
		flood = frame2(kindPing, 0, 0, "12345678")
	case 1:
		flood = frame2(kindSettings, 0, 0, "")
	case 2:
		flood = frame2(kindData, 0, 1, "")
	case 3:
		begin, flood = frame2(kindHeaders, 0, 1, block2("\x82", "/id/1")), frame2(kindContinuation, 0, 1, "")
	case 4:
		begin, flood = frame2(kindHeaders, 0, 1, block2("\x82", "/id/1")), frame2(kindContinuation, 0, 1, strings.Repeat("\x82", 1000))
	case 5:
		flood = frame2(0xbb, 0, 0, "unknown")
	}
	maybe(c.text("%s%s", hello2(1<<20), begin))
	maybe(c.SetWriteDeadline(time.Now().Add(time.Second)))
	many := strings.Repeat(flood, 100)
	for range 1000 {
		if err := c.text("%s", many); err != nil {
			return nil
		}
	}
	return nil
}

// frames2 is a valid exchange of many kinds of frames.
func frames2(c *soakConn) string {
	return hello2(1<<20) + get2(1, c.any2()) + frame2(kindPing, 0, 0, "12345678") + post2(3, "/echo") +
		frame2(kindData, 0, 3, "content") + word2(kindWindow, 0, 1<<20) + frame2(kindHeaders, 0, 5, block2("\x82", "/")[:3]) +
		frame2(kindContinuation, endHeaders, 5, block2("\x82", "/")[3:]) + frame2(kindData, endStream, 3, "and more") + word2(kindReset, 5, 8)
}

// halfFrame2 ends within a frame, and says nothing for a while.
func halfFrame2(c *soakConn) error {
	all := frames2(c)
	maybe(c.text("%s", all[:c.rand.IntN(len(all))]))
	c.pause(50 * time.Millisecond)
	return nil
}

// garbage2 sends garbage behind the preface.
func garbage2(c *soakConn) error {
	b := make([]byte, c.rand.IntN(100<<10))
	for i := range b {
		b[i] = byte(c.rand.Uint32())
	}
	maybe(c.text("%s%s", hello2(1<<20), b))
	maybe(c.tcp.CloseWrite())
	c.drain()
	return nil
}

// mutated2 sends frames of which a byte is changed.
func mutated2(c *soakConn) error {
	b := []byte(frames2(c))
	b[c.rand.IntN(len(b))] = byte(c.rand.Uint32())
	maybe(justNow(c.Write(b)))
	c.pause(5 * time.Millisecond)
	maybe(c.tcp.CloseWrite())
	c.drain()
	return nil
}

// abortedUpload2 sends content up to the windows, and leaves.
func abortedUpload2(c *soakConn) error {
	maybe(c.text("%s", hello2(1<<20)))
	for i := range uint32(1 + c.rand.IntN(4)) {
		maybe(c.text("%s", post2(2*i+1, []string{"/echo", "/drop"}[c.rand.IntN(2)])))
		for range c.rand.IntN(4) {
			maybe(c.text("%s", frame2(kindData, 0, 2*i+1, strings.Repeat("x", 1+c.rand.IntN(16<<10)))))
		}
	}
	c.pause(5 * time.Millisecond)
	return nil
}
