//go:build !race

// It stands on alloc_test.go, which the race detector leaves out.

package redline

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/http1"
)

// BenchmarkRequest feeds requests to sessions, without a socket: what is left is
// what a request costs above the kernel.
func BenchmarkRequest(b *testing.B) {
	router := NewRouter()
	router.GET("/plaintext", func(c *Ctx) { c.Text(200, "Hello, World!") })
	mux := http.NewServeMux()
	hello := []byte("Hello, World!")
	mux.HandleFunc("GET /plaintext", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Write(hello)
	})
	const browser = "Connection: keep-alive\r\nCache-Control: max-age=0\r\nsec-ch-ua: \"Chromium\";v=\"130\"\r\nsec-ch-ua-mobile: ?0\r\n" +
		"sec-ch-ua-platform: \"Linux\"\r\nUpgrade-Insecure-Requests: 1\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36\r\n" +
		"Accept: text/html,application/xhtml+xml\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-User: ?1\r\n" +
		"Sec-Fetch-Dest: document\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-GB,en;q=0.9\r\nCookie: session=8f14e45f\r\n"
	for _, m := range []struct {
		name    string
		s       *Server
		headers string
	}{
		{"native", &Server{Native: router.Serve}, ""},
		{"native-browser", &Server{Native: router.Serve}, browser},
		{"http", &Server{Handler: mux}, ""},
		{"http-browser", &Server{Handler: mux}, browser},
	} {
		m.s.Logger = slog.New(slog.DiscardHandler)
		m.s.Transport = TransportStd
		if _, err := m.s.start(nil); err != nil {
			b.Fatal(err)
		}
		defer m.s.Close()
		b.Run(m.name, func(b *testing.B) {
			session := http1.NewSession(nowhere{}, m.s.sessionConfig())
			var out buf.Queue
			in := []byte("GET /plaintext HTTP/1.1\r\nHost: localhost:8080\r\n" + m.headers + "\r\n")
			b.ReportAllocs()
			for b.Loop() {
				if n, err := session.Feed(in, &out); n != len(in) || err != nil {
					b.Fatal(n, err)
				}
				out.Reset()
			}
		})
		b.Run(m.name+"-pipelined", func(b *testing.B) {
			session := http1.NewSession(nowhere{}, m.s.sessionConfig())
			var out buf.Queue
			in := []byte(strings.Repeat("GET /plaintext HTTP/1.1\r\nHost: localhost:8080\r\n"+m.headers+"\r\n", pipelined))
			b.ReportAllocs()
			for range b.N/pipelined + 1 { // an operation is one request
				if n, err := session.Feed(in, &out); n != len(in) || err != nil {
					b.Fatal(n, err)
				}
				out.Reset()
			}
		})
	}
}

const pipelined = 16
