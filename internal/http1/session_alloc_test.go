//go:build !race

// The race detector makes pools forget, and allocates.

package http1

import (
	"strings"
	"testing"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/exchange"
)

// TestSessionAllocations wants no allocation for a request, whatever the answer is
// made of.
func TestSessionAllocations(t *testing.T) {
	large := make([]byte, 50<<10)
	text := exchange.Line{Name: "Content-Type", Value: "text/plain"}
	h := pathHandler{
		"plaintext": func(x *exchange.Exchange) {
			x.Response.Replace(text)
			x.Body = append(x.Body, "Hello, World!"...)
		},
		"static": func(x *exchange.Exchange) { x.Static = large },
		"whole":  func(x *exchange.Exchange) { x.Prebuilt = &prebuilt },
		"chunks": func(x *exchange.Exchange) {
			must(x.Session.SendBody(x, large[:100]))
			must(x.Session.SendBody(x, large[:1000]))
		},
		"read": func(x *exchange.Exchange) {
			for {
				if _, err := x.Session.ReadBody(x, large); err != nil {
					return
				}
			}
		},
	}
	for name, in := range map[string]string{
		"plaintext": req("GET", "/plaintext", "Accept: */*\r\nUser-Agent: test\r\n"),
		"1.0":       req10("GET", "/plaintext", keeps),
		"pipelined": strings.Repeat(req("GET", "/plaintext", ""), 16),
		"static":    req("GET", "/static", ""),
		"whole":     req("GET", "/whole", ""),
		"chunks":    req("GET", "/chunks", ""),
		"content":   req("POST", "/read", "Content-Length: 5\r\n") + "hello",
		"chunked":   req("POST", "/read", "Transfer-Encoding: chunked\r\n") + "5\r\nhello\r\n0\r\n\r\n",
		"not read":  req("POST", "/plaintext", "Content-Length: 5\r\n") + "hello",
		"browser":   strings.ReplaceAll(head703, "/catalog", "/plaintext"),
	} {
		m := newMem(t, h)
		m.busy = true
		var out buf.Queue
		b := []byte(in)
		got := testing.AllocsPerRun(200, func() {
			n, err := m.session.Feed(b, &out)
			if n != len(b) || err != nil || out.Len() == 0 || !m.session.Idle() {
				t.Fatalf("%s: %d of %d bytes, %v", name, n, len(b), err)
			}
			out.Reset()
		})
		if got != 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
}

func BenchmarkSession(b *testing.B) {
	for name, in := range map[string]string{
		"plaintext":   req("GET", "/text", ""),
		"pipelined16": strings.Repeat(req("GET", "/text", ""), 16),
	} {
		b.Run(name, func(b *testing.B) {
			m := newMem(b, handlers)
			m.busy = true
			var out buf.Queue
			in := []byte(in)
			b.ReportAllocs()
			for b.Loop() {
				if n, err := m.session.Feed(in, &out); n != len(in) || err != nil {
					b.Fatal(n, err)
				}
				out.Reset()
			}
		})
	}
}
