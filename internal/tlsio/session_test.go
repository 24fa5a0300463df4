package tlsio

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-go/redline/internal/transport"
)

// TestSplits has a conversation with every third split of what the client sends in two, and with
// many into more parts.
func TestSplits(t *testing.T) {
	total := 1
	for cut := 0; cut < total; cut += 3 {
		p := newPair(t, uint64(cut))
		p.cut = cut
		p.say("one\ntwo\nthr")
		p.say("ee\nfour\n")
		p.want("one\ntwo\nthree\nfour\n")
		p.say("close\n")
		p.want("bye\n")
		p.wantEnd(io.EOF)
		total = p.wrote
	}
	if total < 500 {
		t.Errorf("the client has sent %d bytes only", total)
	}
}

// TestOneRecord wants the answers to requests that arrive together to leave together.
func TestOneRecord(t *testing.T) {
	p := newPair(t, 1)
	p.say("first\n")
	p.want("first\n")
	before := len(p.Output())
	const n = 50
	p.Stall(true)
	p.say(strings.Repeat("line\n", n))
	for p.Pending() == 0 {
		p.Run() // it may arrive in parts
	}
	p.Stall(false)
	p.want(strings.Repeat("line\n", n))
	// What arrives in k parts is answered in k records.
	if got, feeds := records(p.Output()[before:]), p.Feeds(); got > feeds {
		t.Errorf("%d answers are in %d records, after %d calls of Feed", n, got, feeds)
	}
}

// TestLarge wants a bounded amount of ciphertext to wait for a client that does not read,
// and the close to wait for the rest.
func TestLarge(t *testing.T) {
	for _, line := range []string{"large\n", "large, close\n"} {
		p := newPair(t, 7, func(c *Config) { c.HighWater = 32 << 10 })
		p.inner.large = bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
		p.say("first\n")
		p.want("first\n")
		p.Stall(true)
		p.say(line)
		p.Run()
		if n := p.Pending(); n > 32<<10+17<<10 || n == 0 {
			t.Errorf("%d bytes of records wait", n)
		}
		if n := p.session.behind(); n < 4<<20-64<<10 {
			t.Errorf("%d bytes are not encrypted", n)
		}
		if line == "large\n" {
			p.say("behind\n") // not fed meanwhile
		}
		p.Stall(false)
		p.want(string(p.inner.large))
		if line == "large\n" {
			p.want("behind\n")
			p.say("close\n")
			p.want("bye\n")
		}
		p.wantEnd(io.EOF)
		if p.session.backlog != nil {
			t.Error("the backlog is kept")
		}
	}
}

// TestFile sends a file between other output, and cuts the connection if it is shorter than
// announced.
func TestFile(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 10<<10)
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		p := newPair(t, 4, func(c *Config) { c.TLS.MaxVersion = version })
		p.inner.file, p.inner.size = f, int64(len(content))
		p.say("file\none\n")
		p.want("head " + string(content) + " tail\none\n")
		p.inner.size++
		p.say("file\n")
		p.Run()
		if !p.Cut() {
			t.Errorf("version %x: a file that is too short does not cut the connection", version)
		}
	}
}

// TestPaused wants plaintext that was not consumed to be fed again after Pause(false).
func TestPaused(t *testing.T) {
	for seed := range uint64(20) {
		p := newPair(t, seed)
		p.say("one\npause\ntwo\n")
		p.want("one\n")
		p.Run()
		p.inner.Wake(nothing(func() { p.inner.Pause(false) }))
		p.want("two\n")
	}
}

// TestCloseNotify has either side end, with close_notify and without.
func TestCloseNotify(t *testing.T) {
	p := newPair(t, 1)
	p.say("one\n")
	p.want("one\n")
	if err := p.client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	p.wantEnd(io.EOF)
	if !p.inner.ended || !p.inner.closed {
		t.Errorf("EOF %v, Closed %v", p.inner.ended, p.inner.closed)
	}

	p = newPair(t, 2)
	p.say("one\n")
	p.want("one\n")
	p.End()
	p.wantEnd(io.EOF)
	if !p.inner.ended {
		t.Error("EOF is not called for a truncated stream")
	}

	for _, how := range []transport.Closing{transport.Abrupt, transport.Reset} {
		p = newPair(t, 3)
		p.say("one\n")
		p.want("one\n")
		before := len(p.Output())
		p.inner.Close(how)
		p.Run()
		if n := len(p.Output()) - before; n > 0 {
			t.Errorf("Close(%d) sends %d bytes", how, n)
		}
	}
}

// TestBadRecord wants an alert, and the end, for a record that was changed.
func TestBadRecord(t *testing.T) {
	p := newPair(t, 1)
	p.say("one\n")
	p.want("one\n")
	p.SendString("\x17\x03\x03\x00\x20" + strings.Repeat("x", 32))
	_, err := p.client.Read(make([]byte, 1))
	var alert tls.AlertError
	if err == nil || errors.As(err, &alert) && alert != 20 {
		t.Errorf("client reads %v, want the alert bad_record_mac", err)
	}
	if p.Run(); !p.inner.closed || p.session.failed == nil {
		t.Error("the session is not closed")
	}
}

// TestHijack wants bytes after the request, in the same record and in later ones.
func TestHijack(t *testing.T) {
	for seed := range uint64(20) {
		p := newPair(t, seed)
		p.say("one\nhijack\nbehind ")
		p.want("one\n")
		p.say("later ")
		p.Run()
		nc := <-p.inner.hijacked
		b := make([]byte, len("behind later "))
		if _, err := io.ReadFull(nc, b); err != nil || string(b) != "behind later " {
			t.Fatalf("the connection reads %q, %v", b, err)
		}
		if _, err := io.WriteString(nc, "answer"); err != nil {
			t.Fatal(err)
		}
		b = make([]byte, len("answer"))
		if _, err := io.ReadFull(p.client, b); err != nil || string(b) != "answer" {
			t.Fatalf("client reads %q, %v", b, err)
		}
		nc.Close()
	}
}

// TestAllocations counts those of a request, by server and client.
func TestAllocations(t *testing.T) {
	c, cfg := new(directConn), serverConfig(nil)
	cfg.NewSession = func(c transport.Conn, _ *tls.ConnectionState) transport.Session { return &liner{Conn: c, t: t} }
	c.start(t, cfg)
	request := []byte("GET / HTTP/1.1\n")
	if n := testing.AllocsPerRun(200, func() { c.exchange(t, request) }); n > most {
		t.Errorf("%v allocations by both sides", n)
	}
}
