package http1

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/redline-go/redline/internal/exchange"
)

const (
	head35 = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"

	head128 = "GET /plaintext HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: wrk-like/1.0.00042\r\n" +
		"Accept: text/plain\r\nAccept-Encoding: identity\r\n\r\n"

	head703 = "GET /catalog/products/4711/reviews?page=3&sort=newest HTTP/1.1\r\n" +
		"Host: shop.example.com\r\n" +
		"Connection: keep-alive\r\n" +
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36\r\n" +
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n" +
		"Accept-Language: en-GB,en;q=0.9,de;q=0.8\r\n" +
		"Accept-Encoding: gzip, deflate, br, zstd\r\n" +
		"Referer: https://shop.example.com/catalog/products/4711\r\n" +
		"Sec-Fetch-Dest: document\r\n" +
		"Sec-Fetch-Mode: navigate\r\n" +
		"Sec-Fetch-Site: same-origin\r\n" +
		"Cookie: session=0123456789abcdef0123456789abcdef; theme=dark; consent=all; cart=8d1f0a7be3c94d2f9a61; currency=EUR; seen=47\r\n" +
		"X-Shop-Experiment: blue-button\r\n\r\n"
)

var heads = []struct{ name, head string }{
	{"35", head35}, {"128", head128}, {"703", head703},
}

// TestBenchmarkHeads keeps the sizes in the names true.
func TestBenchmarkHeads(t *testing.T) {
	for _, h := range heads {
		if got := fmt.Sprint(len(h.head)); got != h.name {
			t.Errorf("head %s has %s bytes", h.name, got)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for _, h := range heads {
		for _, depth := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/depth%d", h.name, depth), func(b *testing.B) {
				benchParse(b, []byte(strings.Repeat(h.head, depth)))
			})
		}
	}
}

// varied makes 16 requests that differ, as those of clients do.
func varied(one func(i int) string) string {
	var all strings.Builder
	for i := range 16 {
		all.WriteString(one(i))
	}
	return all.String()
}

var streams = []struct{ name, heads string }{
	{"plain", varied(func(i int) string { // 40 to 60 bytes
		return fmt.Sprintf("GET /%s HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n", "plaintext-and-more"[:2+i])
	})},
	{"query", varied(func(i int) string { // 60 to 90 bytes
		return fmt.Sprintf("GET /search?q=%d&page=%s HTTP/1.1\r\nHost: example.com\r\nAccept: */*\r\n\r\n", i*7919, strings.Repeat("x", i))
	})},
	{"api", varied(func(i int) string { // 300 to 400 bytes
		return fmt.Sprintf("GET /v1/accounts/%d/orders/%d?expand=%s HTTP/1.1\r\nHost: api.example.com\r\n"+
			"User-Agent: Go-http-client/1.1\r\nAccept: application/json\r\nAuthorization: Bearer %s\r\n"+
			"Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b71692033%02x-01\r\nX-Request-Id: %016x\r\n"+
			"X-Tenant: %d\r\nAccept-Encoding: gzip\r\n\r\n",
			i*7919, i*104729, "lines,customer"[:i%15], strings.Repeat("t0ken.", 10+i), i, i*15485863, i)
	})},
	{"browser", varied(func(i int) string { // 700 to 800 bytes
		return strings.Replace(head703, "4711/reviews", fmt.Sprintf("%d/reviews/%s", i*7919, strings.Repeat("x", 6*i)), 1)
	})},
}

// BenchmarkParseVaried parses requests that are not the one before.
func BenchmarkParseVaried(b *testing.B) {
	for _, s := range streams {
		b.Run(s.name, func(b *testing.B) { benchParse(b, []byte(s.heads)) })
	}
}

// benchParse parses the requests in buf one after the other; an operation is one
// request.
func benchParse(b *testing.B, buf []byte) {
	var p Parser
	p.Init(exchange.Limits{})
	var r exchange.Request
	at := 0
	b.ReportAllocs()
	for b.Loop() {
		n, code := p.Parse(&r, buf[at:])
		if code != Complete {
			b.Fatal(code)
		}
		if at += n; at == len(buf) {
			at = 0
		}
	}
}

// BenchmarkParseSplit feeds each head in two halves.
func BenchmarkParseSplit(b *testing.B) {
	for _, h := range heads {
		b.Run(h.name, func(b *testing.B) {
			buf := []byte(h.head)
			var p Parser
			p.Init(exchange.Limits{})
			var r exchange.Request
			for b.Loop() {
				p.Parse(&r, buf[:len(buf)/2])
				if _, code := p.Parse(&r, buf); code != Complete {
					b.Fatal(code)
				}
			}
		})
	}
}

func BenchmarkParseNetHTTP(b *testing.B) {
	for _, h := range heads {
		b.Run(h.name, func(b *testing.B) {
			src := strings.NewReader(h.head)
			in := bufio.NewReader(src)
			for b.Loop() {
				src.Reset(h.head)
				in.Reset(src)
				if _, err := http.ReadRequest(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkChunked(b *testing.B) {
	for _, size := range []int{1, 100, 4096} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			var in []byte
			for range 16 {
				in = append(AppendChunkHead(in, size), bytes.Repeat([]byte("x"), size)...)
				in = AppendChunkTail(in)
			}
			in = AppendChunkTail(AppendLastChunk(in))
			var p Parser
			p.Init(exchange.Limits{})
			r := exchange.Request{ContentLength: exchange.UnknownLength}
			var body Body
			b.ReportAllocs()
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				body.Init(&r, p.Limits())
				for rest := in; ; {
					_, n, code := body.Next(rest)
					if code == Complete {
						break
					}
					if code != NeedMore {
						b.Fatal(code)
					}
					rest = rest[n:]
				}
			}
		})
	}
}
