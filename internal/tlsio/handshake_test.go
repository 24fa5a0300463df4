package tlsio

import (
	"crypto/tls"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
)

// nothing makes a function for Wake.
func nothing(f func()) func(*buf.Queue) error {
	return func(*buf.Queue) error { f(); return nil }
}

// closed waits for the end of the connection.
func (p *pair) closed() {
	p.t.Helper()
	p.Wait("the connection is closed", func() bool { closed, _ := p.Fake.Closed(); return closed })
}

// TestNotTLS has clients that speak something else.
func TestNotTLS(t *testing.T) {
	for _, c := range []struct {
		sent   string
		cause  Cause
		reason string
		got    string
	}{
		{"GET / HTTP/1.1\r\nHost: h\r\n\r\n", PlainHTTP, "HTTP request to an HTTPS server", plainAnswer},
		{"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", PlainHTTP, "HTTP request to an HTTPS server", plainAnswer},
		{"SSH-2.0-x\r\n", Other, "does not look like a TLS handshake", ""},
		{"\x00\x00\x00\x00\x00", Other, "does not look like a TLS handshake", ""},
		{"\x16\x99\x01\x00\x01\x00", Other, "does not look like a TLS handshake", ""},
		{"\x16\x03\x01\xff\xff\x00", Other, "oversized record", "\x15\x03\x01\x00\x02\x02\x16"},
		{"\x16\x03\x01\x00\x05hello", Other, "", "\x15"},
	} {
		for seed := range uint64(5) {
			var f failures
			goroutines := runtime.NumGoroutine()
			p := newPair(t, seed, f.to)
			p.SendString(c.sent)
			p.closed()
			f.want(t, c.cause, c.reason)
			if got := string(p.Output()); !strings.HasPrefix(got, c.got) {
				t.Errorf("%q: client receives %q, want %q", c.sent, got, c.got)
			}
			ends(t, goroutines)
		}
	}
}

// ends waits for goroutines to end.
func ends(t *testing.T, goroutines int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > goroutines; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
		}
	}
}

// atRest wants no handshakes to run or wait.
func atRest(t *testing.T, b *Handshakes) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.running)+b.slow != 0 || len(b.queue) != 0 || len(b.begun) != 0 {
		t.Errorf("%d handshakes run, %d slow, %d wait, %d wait to continue", len(b.running), b.slow, len(b.queue), len(b.begun))
	}
}

// hello is the first flight of a client.
func hello(t *testing.T) []byte {
	p := newPair(t, 0)
	p.Stall(true)
	sent := make(chan []byte, 1)
	c := tls.Client(recorder{p, sent}, &tls.Config{InsecureSkipVerify: true})
	_ = c.Handshake() // it fails
	return <-sent
}

type recorder struct {
	*pair
	sent chan []byte
}

func (r recorder) Write(b []byte) (int, error) {
	r.sent <- append([]byte(nil), b...)
	return 0, errClosed
}

// TestHalfOpen has clients that stop within a handshake: a part of the first record starts no
// goroutine, and all of them are closed in time.
func TestHalfOpen(t *testing.T) {
	first := hello(t)
	for _, n := range []int{0, 1, 5, 100, len(first) - 1, len(first)} {
		for _, how := range []string{"late", "gone", "reset", "stopped"} {
			var f failures
			goroutines := runtime.NumGoroutine()
			p := newPair(t, uint64(n), f.to, func(c *Config) { c.Timeout = time.Minute })
			p.Send(first[:n])
			p.Run()
			if n < len(first) {
				atRest(t, p.cfg.Handshakes) // no goroutine for a part of a hello
			} else {
				p.Wait("the server has answered", func() bool { return len(p.Output()) > 0 })
			}
			switch how {
			case "late":
				p.Advance(2 * time.Minute)
				p.closed()
				f.want(t, Timeout, "in time")
			case "gone":
				p.End()
				p.closed()
				f.want(t, Gone, "EOF")
			case "reset":
				p.Reset()
				p.closed()
			case "stopped":
				quit := func(out *buf.Queue) error { return p.session.Quit(true, out) }
				p.session.conn.Wake(quit)
				p.closed()
				if len(f.causes) > 0 {
					t.Errorf("failures: %v %q", f.causes, f.errs)
				}
			}
			ends(t, goroutines)
			atRest(t, p.cfg.Handshakes)
		}
	}
}

// TestQueue has more handshakes than may run, and than may wait.
func TestQueue(t *testing.T) {
	var f failures
	release, begun := make(chan struct{}), make(chan struct{}, 9)
	b := NewHandshakes(1, 2)
	b.quantum = time.Hour
	config := func(c *Config) {
		c.Handshakes = b
		c.TLS.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
			begun <- struct{}{}
			<-release
			return nil, nil
		}
	}
	goroutines := runtime.NumGoroutine()
	first := hello(t)
	var all []*pair
	for i := range 3 {
		p := newPair(t, uint64(i), config)
		p.Send(first)
		p.Run()
		if all = append(all, p); i == 0 {
			<-begun
		}
	}
	if st := b.Stats(); st.Waiting != 2 {
		t.Errorf("%d handshakes wait, want 2", st.Waiting)
	}
	refused := newPair(t, 9, config, f.to)
	refused.Send(first)
	refused.closed()
	f.want(t, Refused, "too many")
	all[1].Reset() // it leaves the queue without having run
	all[1].closed()
	close(release)
	for _, p := range []*pair{all[0], all[2]} {
		p.Wait("the server has answered", func() bool { return len(p.Output()) > 0 })
		p.End()
		p.closed()
	}
	ends(t, goroutines)
	atRest(t, b)
	if len(begun) != 1 {
		t.Errorf("%d handshakes have begun, want 2", len(begun)+1)
	}
}

// TestSlow has handshakes whose certificate takes long to come: the others do not wait for it.
func TestSlow(t *testing.T) {
	release := make(chan struct{})
	b := NewHandshakes(1, 9)
	first := hello(t)
	goroutines := runtime.NumGoroutine()
	slow := func(c *Config) {
		c.Handshakes = b
		c.TLS.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
			<-release
			return nil, nil
		}
	}
	var all []*pair
	for i := range 4 {
		p := newPair(t, uint64(i), slow)
		p.Send(first)
		p.Run()
		all = append(all, p)
	}
	quick := newPair(t, 9, func(c *Config) { c.Handshakes = b })
	quick.Send(first)
	quick.Wait("the server has answered", func() bool { return len(quick.Output()) > 0 })
	close(release)
	for _, p := range append(all, quick) {
		p.Wait("the server has answered", func() bool { return len(p.Output()) > 0 })
		p.End()
		p.closed()
	}
	ends(t, goroutines)
	atRest(t, b)
}

// TestCauses has handshakes fail that are well-formed.
func TestCauses(t *testing.T) {
	for _, c := range []struct {
		client *tls.Config
		cause  Cause
	}{
		{&tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}, Version},
		{&tls.Config{ServerName: "elsewhere"}, Alert}, // does not trust the certificate
		{&tls.Config{InsecureSkipVerify: true, NextProtos: []string{"unknown"}}, Other},
	} {
		var f failures
		p := newPair(t, 1, f.to, func(c *Config) { c.TLS.NextProtos = []string{"http/1.1"} })
		if err := tls.Client(p, c.client).Handshake(); err == nil {
			t.Error("the handshake succeeds")
		}
		p.closed()
		f.want(t, c.cause, "")
	}
}
