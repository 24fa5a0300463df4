package main

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// serveEvents starts a server of event streams, with TLS or HTTP/2 if requested. Each
// stream has the given number of events; 0 is unlimited. others counts the requests that
// use another protocol.
func serveEvents(t *testing.T, secure, http2 bool, each int) (s *httptest.Server, others *atomic.Int64) {
	t.Helper()
	others = new(atomic.Int64)
	events := streamOf("text/event-stream", func(id int) string {
		return fmt.Sprintf("id: %d\ndata: %d\n\n", id, time.Now().UnixNano())
	})
	s = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if (r.ProtoMajor == 2) != http2 || (r.TLS != nil) != secure {
			others.Add(1)
		}
		if each == 0 {
			events(w, r, 0)
			return
		}
		var from int
		_, _ = fmt.Sscan(r.Header.Get("Last-Event-ID"), &from)
		w.Header().Set("Content-Type", "text/event-stream")
		for id := from + 1; id <= from+each; id++ {
			fmt.Fprintf(w, "id: %d\ndata: x\n\n", id)
		}
	}))
	s.EnableHTTP2 = http2
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // drops the errors of connections that end early
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(!http2)
	s.Config.Protocols.SetHTTP2(http2)
	s.Config.Protocols.SetUnencryptedHTTP2(http2 && !secure)
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s, others
}

// Subscribers support the protocols of requests, with the same flags, and the result
// reports them in the same way.
func TestLoadStreamProtocols(t *testing.T) {
	for _, c := range []struct {
		name          string
		secure, http2 bool
		args          []string
		connections   uint64
		subscribers   int
		words         string
	}{
		{"TLS", true, false, []string{"--insecure"}, 3, 3, "3 subscribers, TLS 1.3, "},
		{"TLS, trusted", true, false, []string{"--server-name", "example.com"}, 3, 3, "3 handshakes"},
		{"TLS, two workers", true, false, []string{"--insecure", "--workers", "2", "-c", "5"}, 5, 5, "5 subscribers of 2 workers, TLS 1.3"},
		{"HTTP/2", true, true, []string{"--insecure", "--http2"}, 3, 3, "3 subscribers, HTTP/2, TLS 1.3"},
		{"HTTP/2, shared", true, true, []string{"--tls-insecure", "--http2", "--streams", "20"}, 3, 60, "60 subscribers, 20 on each HTTP/2 connection, TLS 1.3"},
		{"HTTP/2 in clear", false, true, []string{"--http2", "--streams", "4"}, 3, 12, "12 subscribers, 4 on each HTTP/2 connection"},
		{"HTTP/2, two workers", true, true, []string{"--insecure", "--http2", "--streams", "2", "--workers", "2", "-c", "5"}, 5, 10, "10 subscribers of 2 workers, 2 on each HTTP/2 connection"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name != "HTTP/2, two workers" {
				once(t)
			}
			s, others := serveEvents(t, c.secure, c.http2, 0)
			dir := t.TempDir()
			file := filepath.Join(dir, "run.json")
			args := append(short("--sse", "--stamp", "@data", "--json", file), c.args...)
			if strings.Contains(c.name, "trusted") {
				ca := filepath.Join(dir, "ca.pem")
				if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
					t.Fatal(err)
				}
				args = append(args, "--ca", ca)
			}
			code, out, said := loadOf(t, t.Context(), append(args, s.URL+"/events")...)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("exit code %d, %s", code, said)
			}
			d := documentOf(t, string(text))
			h := d.Stream
			if code != 0 || len(d.Errors) > 0 || others.Load() > 0 || !strings.Contains(out, c.words) {
				t.Errorf("exit code %d, errors %v, %d came in another protocol, %s", code, d.Errors, others.Load(), out)
			}
			if h.Subscribers != c.subscribers || h.Standing != c.subscribers || h.Missed+h.Duplicated != 0 || h.Events == 0 || h.Events != d.Latency.Count {
				t.Errorf("stream %+v, %d delays", h, d.Latency.Count)
			}
			if d.Connects.Made != c.connections {
				t.Errorf("%d connects, want %d", d.Connects.Made, c.connections)
			}
			if (d.TLS != nil) != c.secure || c.secure && (d.TLS.Handshakes != c.connections || d.TLS.Time.Count != c.connections || d.Config.TLS == nil) {
				t.Errorf("TLS %+v", d.TLS)
			}
		})
	}
}

// Subscribers whose streams end reconnect: over HTTP/1.1 with a handshake, which may resume
// a session, over HTTP/2 on the same connection.
func TestLoadStreamsComeBack(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP/2 %v", http2), func(t *testing.T) {
			s, others := serveEvents(t, true, http2, 10)
			args := short("-d", "1s", "--sse", "--insecure", "--tls-resume", "--retry", "10ms", "--json", "-")
			if http2 {
				args = append(args, "--http2", "--streams", "2")
			}
			code, out, said := loadOf(t, t.Context(), append(args, s.URL+"/events")...)
			if code != 0 {
				t.Fatalf("exit code %d, %s", code, said)
			}
			d := documentOf(t, out)
			h := d.Stream
			if h.Reconnects == 0 || h.Ends == 0 || h.Missed+h.Duplicated != 0 || len(d.Errors) > 0 || others.Load() > 0 {
				t.Errorf("stream %+v, errors %v, %d came in another protocol", h, d.Errors, others.Load())
			}
			if http2 != (d.TLS.Handshakes == 3) || !http2 && (d.TLS.Resumed == 0 || !strings.Contains(said, "of them resumed")) {
				t.Errorf("TLS %+v, %s", d.TLS, said)
			}
		})
	}
}

// A server that accepts fewer streams than are to share a connection is an error before
// anything is measured.
func TestLoadStreamsTooMany(t *testing.T) {
	s, _ := serveEvents(t, false, true, 0)
	code, _, said := loadOf(t, t.Context(), short("--sse", "--http2", "--streams", "4000", "-c", "1", "--quiet", s.URL)...)
	if code != 1 || !strings.Contains(said, "fewer than the 4000 subscribers that share one: write --streams 250") {
		t.Errorf("exit code %d, %s", code, said)
	}
}
