package wire

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/load/h2"
	"github.com/redline-go/redline/lab/load/tlsclient"
)

// deaf is an h2.Handler that ignores answers.
type deaf struct{}

func (deaf) Head(int, *h2.Head) {}
func (deaf) Data(int, []byte)   {}
func (deaf) End(int)            {}
func (deaf) Fail(int, h2.Error) {}

// pair is a connection and its peer.
type pair struct {
	*Conn
	common Common
	out    uint64
	read   uint64 // of it, by the peer
	gone   int
	fd     int
	peer   net.Conn
}

// newPair returns a connected pair, which is closed with the test.
func newPair(t *testing.T, secure, frames bool) *pair {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fds[0]) })
	file := os.NewFile(uintptr(fds[1]), "peer")
	peer, err := net.FileConn(file)
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = peer.Close() })
	p := &pair{fd: fds[0], peer: peer}
	p.common = Common{BytesOut: &p.out, MaxOwed: tlsclient.MaxOwed, KeepFrames: 2 << 10, KeepPending: 1 << 10}
	if secure {
		protocol := "http/1.1"
		if frames {
			protocol = "h2"
		}
		if p.common.TLS, err = tlsclient.NewClient(tlsclient.Settings{Insecure: true, Protocols: []string{protocol}}); err != nil {
			t.Fatal(err)
		}
	}
	if frames {
		if p.common.HTTP2, err = h2.NewClient(h2.Settings{Streams: 1}); err != nil {
			t.Fatal(err)
		}
	}
	c := New(&p.common, deaf{}, func() { p.gone++ })
	p.Conn = &c
	if err := p.Begin(p.fd, 0); err != nil {
		t.Fatal(err)
	}
	return p
}

// receive reads once, within ten seconds, and returns the result of Receive.
func (p *pair) receive(t *testing.T) (plain []byte, ready bool, err error) {
	t.Helper()
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, 10_000); n != 1 {
		t.Fatalf("no input: %v", err)
	}
	in := make([]byte, 64<<10)
	n, errno := Receive(p.fd, in)
	if errno != 0 {
		t.Fatal(errno)
	}
	return p.Receive(in[:n], 1000)
}

// handshake makes the TLS handshake, with a server that offers protocols.
func (p *pair) handshake(t *testing.T, protocols ...string) (server *tls.Conn, ready bool, err error) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	server = tls.Server(p.peer, &tls.Config{Certificates: s.TLS.Certificates, NextProtos: protocols})
	done := make(chan error, 1)
	go func() { done <- server.Handshake() }()
	for range 10 {
		if _, ready, err = p.receive(t); ready || err != nil || p.HTTP2 != nil {
			break
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return server, ready, err
}

// drain reads all output, including what is pending.
func (p *pair) drain(t *testing.T) (all []byte) {
	t.Helper()
	if err := p.peer.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	in := make([]byte, 64<<10)
	for done := p.Unblock(); !done || p.read < p.out; {
		n, err := p.peer.Read(in)
		if err != nil {
			t.Fatal(err)
		}
		all, p.read = append(all, in[:n]...), p.read+uint64(n)
		done = p.Unblock()
	}
	return all
}

// Output that the socket does not accept is pending, and requests follow it.
func TestPending(t *testing.T) {
	p := newPair(t, false, true)
	if err := p.HTTP2.Feed([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0}); err != nil || !p.HTTP2.Settled() {
		t.Fatal(err)
	}
	much := bytes.Repeat([]byte("much "), 1<<20)
	for _, b := range [][]byte{much[:len(much)-7], much[len(much)-7:]} {
		if !p.Send(b) {
			t.Fatal("not sent")
		}
	}
	if n, owed := p.Pending(); n == 0 || owed != 0 || uint64(n)+p.out < uint64(len(much)) {
		t.Fatalf("%d bytes pending, %d owed, %d out", n, owed, p.out)
	}
	fields := h2.Pseudo("GET", "http", "x", []byte("/"))
	r, err := h2.NewRequest(0, fields, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if slot := p.Request(r); slot < 0 || p.Request(r) >= 0 {
		t.Fatalf("slot %d, or more than one", slot)
	}
	if more, err := p.Flush(); more || err != nil || !p.Unsent() || p.Unblock() {
		t.Fatalf("more %v, %v", more, err)
	}
	all := p.drain(t)
	if more, err := p.Flush(); more || err != nil || p.Unsent() {
		t.Fatalf("more %v, %v", more, err)
	}
	all = append(all, p.drain(t)...)
	before, after, ok := bytes.Cut(all, much)
	if !ok || !bytes.HasPrefix(before, []byte(http2.ClientPreface)) || p.out != uint64(len(all)) {
		t.Fatalf("%d bytes, %d before, %d counted", len(all), len(before), p.out)
	}
	var kinds []string
	for f := http2.NewFramer(nil, bytes.NewReader(after)); ; {
		frame, err := f.ReadFrame()
		if err != nil {
			break
		}
		kinds = append(kinds, frame.Header().Type.String())
	}
	if got := strings.Join(kinds, " "); got != "HEADERS SETTINGS" {
		t.Errorf("after it: %s", got)
	}
	if p.Kept() > p.common.KeepFrames+p.common.KeepPending {
		t.Errorf("%d bytes kept", p.Kept())
	}
}

// Handshakes end with HTTP/1.1, with HTTP/2, or with an error if the server does not offer
// it.
func TestHandshake(t *testing.T) {
	for _, c := range []struct {
		name   string
		frames bool
		offers []string
		err    error
	}{
		{"HTTP/1.1", false, []string{"http/1.1"}, nil},
		{"HTTP/2", true, []string{"h2"}, nil},
		{"no HTTP/2", true, nil, tlsclient.ErrNoHTTP2},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t, true, c.frames)
			server, ready, err := p.handshake(t, c.offers...)
			if err != c.err || ready != (!c.frames && err == nil) || (p.HTTP2 != nil) != (c.frames && err == nil) {
				t.Fatalf("ready %v, HTTP/2 %v, %v", ready, p.HTTP2 != nil, err)
			}
			res, err := p.common.Handshakes.Result()
			if err != nil || (res == nil) != (c.err != nil) {
				t.Errorf("handshakes %+v, %v", res, err)
			}
			if c.err != nil {
				return
			}
			if _, err := server.Write([]byte("hello")); err != nil {
				t.Fatal(err)
			}
			if plain, ready, err := p.receive(t); string(plain) != "hello" || ready || err != nil {
				t.Errorf("%q, ready %v, %v", plain, ready, err)
			}
		})
	}
}

// Replies of TLS that a server does not read are bounded.
func TestOwed(t *testing.T) {
	for _, most := range []int{0, tlsclient.MaxOwed} {
		p := newPair(t, true, false)
		if _, ready, err := p.handshake(t); !ready || err != nil {
			t.Fatal(err)
		}
		p.common.MaxOwed, p.read = most, p.out
		if !p.Send(make([]byte, 4<<20)) {
			t.Fatal("not sent")
		}
		// An alert is the answer.
		plain, _, err := p.Receive([]byte("\x17\x03\x03\x00\x20"+strings.Repeat("x", 32)), 0)
		if len(plain) > 0 || err == nil || (err == tlsclient.ErrOwed) != (most == 0) {
			t.Errorf("at most %d: %q, %v", most, plain, err)
		}
		if n, owed := p.Pending(); n <= owed || owed == 0 {
			t.Errorf("%d bytes pending, %d owed", n, owed)
		}
		p.drain(t)
		if n, owed := p.Pending(); n != 0 || owed != 0 {
			t.Errorf("%d bytes pending, %d owed", n, owed)
		}
		if p.Send([]byte("x")) || !p.Broken() || p.gone != 1 {
			t.Errorf("sent after an alert; gone %d times", p.gone)
		}
	}
}

// A lost peer is reported once, and nothing more is sent.
func TestGone(t *testing.T) {
	p := newPair(t, false, true)
	if err := p.peer.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		p.Send([]byte("x"))
	}
	n, _ := p.Pending()
	if more, err := p.Flush(); !p.Broken() || p.gone != 1 || n != 3 || more || err != nil {
		t.Errorf("broken %v, gone %d times, %d bytes pending, %v", p.Broken(), p.gone, n, err)
	}
	p.Close(true)
	if n, _ := p.Pending(); n != 0 || p.HTTP2 != nil {
		t.Errorf("%d bytes pending after the end", n)
	}
}

// Close announces the end of an established connection with TLS and HTTP/2.
func TestClose(t *testing.T) {
	for _, established := range []bool{false, true} {
		for _, secure := range []bool{false, true} {
			p := newPair(t, secure, !secure)
			if secure {
				if _, ready, err := p.handshake(t); !ready || err != nil {
					t.Fatal(err)
				}
			}
			p.read = p.out
			p.Close(established)
			if err := unix.Shutdown(p.fd, unix.SHUT_WR); err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(p.peer)
			if err != nil {
				t.Fatal(err)
			}
			told := secure && len(text) > 0
			if !secure { // after the connection preface
				told = len(text) > int(p.out) && text[p.out+3] == byte(http2.FrameGoAway)
			}
			if told != established || p.HTTP2 != nil || p.Truncated() {
				t.Errorf("established %v, TLS %v: %q", established, secure, text)
			}
		}
	}
}
