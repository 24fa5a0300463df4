package redline_test

import (
	"encoding/binary"
	"maps"
	"strings"
	"time"
)

// abuses2 are clients that make much of few bytes.
var abuses2 = map[string]hostility{
	"h2 settings":   resized2,
	"h2 references": references2,
	"h2 unread":     unread2,
	"h2 late":       late2,
	"h2 windows":    windows2,
	"h2 blocks":     blocks2,
}

func init() {
	maps.Copy(hostilities2, abuses2)
	maps.Copy(hostilities, abuses2)
}

// many2 sends something again and again, until the server has had enough.
func many2(c *soakConn, n int, what string) {
	maybe(c.SetWriteDeadline(time.Now().Add(time.Second)))
	for range n {
		if c.text("%s", what) != nil {
			return
		}
		maybe(justNow(c.r.Discard(c.r.Buffered())))
	}
}

// resized2 has answers wait for windows, and changes them thousands of times in each frame.
func resized2(c *soakConn) error {
	maybe(c.text("%s", hello2(0)))
	for i := range uint32(200) {
		maybe(c.text("%s", get2(2*i+1, "/id/1")))
	}
	var b []byte
	for i := range uint32(2700) {
		b = binary.BigEndian.AppendUint32(append(b, 0, 4), i&1)
	}
	many2(c, c.rand.IntN(300), frame2(kindSettings, 0, 0, string(b)))
	return nil
}

// references2 sends a long line once, and refers to it in each of many requests, whose handlers wait or
// whose answers do.
func references2(c *soakConn) error {
	name := []string{"x-a", "cookie"}[c.rand.IntN(2)]
	path := []string{"/id/1", "/sleep/1", "/stream"}[c.rand.IntN(3)]
	value := 1000 + c.rand.IntN(2900)
	line := "\x40" + string(rune(len(name))) + name + "\x7f" + string([]byte{byte(value-127)&0x7f | 0x80, byte((value - 127) >> 7)}) + strings.Repeat("a", value)
	maybe(c.text("%s", hello2(uint32(c.rand.IntN(2))<<20)))
	again := strings.Repeat("\xbe", 1+c.rand.IntN(15))
	maybe(c.text("%s", frame2(kindHeaders, endStream|endHeaders, 1, block2("\x82", path)+line)))
	for i := range uint32(249) {
		maybe(c.text("%s", frame2(kindHeaders, endStream|endHeaders, 2*i+3, block2("\x82", path)+again)))
	}
	c.pause(20 * time.Millisecond)
	return nil
}

// unread2 sends content that no handler reads.
func unread2(c *soakConn) error {
	maybe(c.text("%s", hello2(1<<20)))
	for i := range uint32(100) {
		maybe(c.text("%s", post2(2*i+1, []string{"/sleep/1", "/stream"}[c.rand.IntN(2)])))
	}
	for i := range uint32(1 + c.rand.IntN(8)) {
		maybe(c.text("%s", frame2(kindData, 0, 2*i+1, strings.Repeat("x", 8<<10))))
	}
	c.pause(20 * time.Millisecond)
	return nil
}

// late2 sends content for handlers that answer before it comes, more than they can have been sent before
// that.
func late2(c *soakConn) error {
	maybe(c.text("%s", hello2(1<<20)))
	for i := range uint32(100) {
		maybe(c.text("%s", post2(2*i+1, "/id/1")))
	}
	many2(c, c.rand.IntN(10_000), frame2(kindData, 0, 1+2*uint32(c.rand.IntN(100)), strings.Repeat("x", c.rand.IntN(10))))
	return nil
}

// windows2 opens the window of a stream that has ended.
func windows2(c *soakConn) error {
	maybe(c.text("%s%s", hello2(1<<20), get2(1, "/id/1")))
	many2(c, 100, strings.Repeat(word2(kindWindow, 1, 256), 100))
	return nil
}

// blocks2 reads nothing, and begins a header block again and again.
func blocks2(c *soakConn) error {
	c.narrow()
	maybe(c.text("%s%s%s", hello2(1<<20), word2(kindWindow, 0, 1<<20), get2(1, "/big")))
	maybe(c.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)))
	block := block2("\x82", "/id/1")
	for i := range uint32(30) {
		maybe(c.text("%s", frame2(kindHeaders, endStream, 2*i+3, block[:1])))
		c.pause(10 * time.Millisecond)
		maybe(c.text("%s", frame2(kindContinuation, endHeaders, 2*i+3, block[1:])))
	}
	return nil
}
