package tlsclient

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
	"testing"
)

// Errors are classified.
func TestErrors(t *testing.T) {
	_, pool := certificate()
	for _, tt := range []struct {
		name     string
		settings Settings
		change   func(*tls.Config)
		tamper   func([]byte)
		want     Kind
		words    string
	}{
		{"unknown authority", Settings{ServerName: "localhost", Roots: x509.NewCertPool()}, nil, nil, Certificate, "unknown authority"},
		{"other name", Settings{ServerName: "example.com", Roots: pool}, nil, nil, Certificate, "example.com"},
		{"any certificate", Settings{ServerName: "example.com", Insecure: true}, nil, nil, 0, ""},
		{"no common protocol", Settings{Insecure: true, Protocols: []string{"spdy/3"}}, nil, nil, Alert, "no application protocol"},
		{"no common version", Settings{Insecure: true, Min: tls.VersionTLS13}, version(tls.VersionTLS12), nil, Alert, "protocol version"},
		{"not TLS", Settings{Insecure: true}, nil, func(b []byte) { copy(b, "HTTP/1.1 400 Bad Request\r\n") }, NotTLS, "does not look like a TLS handshake"},
		{"hello cut short", Settings{Insecure: true}, nil, func(b []byte) { b[5+3] -= 2 }, Record, ""},
		{"tampered", Settings{Insecure: true}, nil, func(b []byte) { b[len(b)-1] ^= 1 }, Record, "bad record MAC"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			once := false
			p := &play{change: func(b []byte) {
				if !once && tt.tamper != nil && len(b) > 30 {
					once = true
					tt.tamper(b)
				}
			}}
			c := start(t, client(t, tt.settings), server(t, tt.change), p)
			if tt.want == 0 {
				if p.err != nil || !c.Ready() {
					t.Error(p.err)
				}
				return
			}
			e, _ := errors.AsType[*Error](p.err)
			if e == nil || e.Kind != tt.want || !strings.Contains(e.Error(), tt.words) {
				t.Fatalf("got %v, want %v", p.err, tt.want)
			}
			if _, _, err := c.Feed([]byte("more"), nil, nil); err != p.err {
				t.Errorf("then %v", err)
			}
			if _, err := c.Write(nil, []byte("x")); err == nil {
				t.Error("a failed connection can be written to")
			}
		})
	}
}

// After the handshake, tampering is answered with an alert, and an end without close_notify
// is an error, between records and within one.
func TestBrokenLater(t *testing.T) {
	cl := client(t, trusting())
	t.Run("tampered", func(t *testing.T) {
		c, s := stand(t, cl, nil, 1<<20)
		answer, _ := s.Write(nil, []byte("hello"))
		answer[7] ^= 1
		p := &play{size: 1 << 20}
		p.run(c, s, nil, answer)
		if e, _ := errors.AsType[*Error](p.err); e == nil || e.Kind != Record || len(p.got) > 0 {
			t.Errorf("the client: %v", p.err)
		}
		if e, _ := errors.AsType[*Error](p.refused); e == nil || e.Kind != Alert {
			t.Errorf("the server: %v", p.refused)
		}
	})
	t.Run("truncated", func(t *testing.T) {
		for _, cut := range []int{0, 3, 10} {
			c, s := stand(t, cl, nil, 1<<20)
			answer, _ := s.Write(nil, []byte("hello"))
			p := &play{size: 1 << 20}
			p.run(c, s, nil, answer[:len(answer)-cut])
			if e, _ := errors.AsType[*Error](c.End()); p.err != nil || e == nil || e.Kind != Truncated {
				t.Errorf("cut by %d: %v, %v", cut, p.err, e)
			}
		}
	})
	t.Run("in the handshake", func(t *testing.T) {
		c, _, err := cl.Start(nil)
		if err != nil {
			t.Fatal(err)
		}
		if e, _ := errors.AsType[*Error](c.End()); e == nil || e.Kind != Truncated {
			t.Error(e)
		}
		c.Close(nil)
	})
	t.Run("written too early", func(t *testing.T) {
		c, _, err := cl.Start(nil)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := c.Write(nil, []byte("x")); err == nil || len(out) > 0 {
			t.Error("plaintext is written before there are keys")
		}
		c.Close(nil)
	})
	t.Run("alert", func(t *testing.T) {
		// With TLS 1.3 the server checks the client's certificate when the client's handshake
		// is already complete.
		s := server(t, func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert })
		p := &play{}
		c := start(t, cl, s, p)
		if e, _ := errors.AsType[*Error](p.err); e == nil || e.Kind != Alert || !c.Ready() {
			t.Error(p.err)
		}
	})
}
