//go:build linux

package peers_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/redline-go/redline/contrib/control"
	"github.com/redline-go/redline/peers/internal/subject"
)

const get = "GET /plaintext HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n"

// post is a POST with a body of known length.
func post(path string, body []byte) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n%s",
		path, len(body), body)
}

// postJSON is a POST with a body of JSON.
func postJSON(path, body string) string {
	return strings.Replace(post(path, []byte(body)), "application/octet-stream", "application/json", 1)
}

// orders is what two items come to 399 cents of.
const orders = `{"customer":"c","items":[{"id":1,"name":"a","quantity":2,"price":150,"tags":["x","y"]},` +
	`{"id":2,"name":"b","quantity":1,"price":99,"tags":[]}]}`

// postChunked is a POST with a body in chunks of the given sizes.
func postChunked(path string, body []byte, sizes ...int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", path)
	for _, size := range sizes {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", size, body[:size])
		body = body[size:]
	}
	b.WriteString("0\r\n\r\n")
	return b.String()
}

// answer reads one answer whole. method is that of the request.
func (c *client) answer(t *testing.T, method string) (*http.Response, []byte) {
	t.Helper()
	answer, err := http.ReadResponse(c.in, &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, body
}

func (c *client) send(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// checkType checks for a media type; the only parameter that it may have is the charset.
func checkType(t *testing.T, answer *http.Response, want string) {
	t.Helper()
	media, params, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if err != nil {
		t.Error(err)
	}
	delete(params, "charset")
	if media != want || len(params) > 0 {
		t.Errorf("Content-Type is %q, want %q", answer.Header.Get("Content-Type"), want)
	}
}

func TestAnswers(t *testing.T) {
	body := make([]byte, 100_000)
	for i := range body {
		body[i] = byte(i * 7 >> 3)
	}
	browser := "GET /plaintext HTTP/1.1\r\nHost: localhost\r\n" +
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0\r\n" +
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n" +
		"Accept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n" +
		"Cookie: session=" + strings.Repeat("0123456789abcdef", 25) + "\r\n" +
		"Connection: keep-alive\r\nUpgrade-Insecure-Requests: 1\r\nSec-Fetch-Dest: document\r\n" +
		"Sec-Fetch-Mode: navigate\r\nSec-Fetch-Site: none\r\nPriority: u=0, i\r\n\r\n"
	const plain, octets, json = "text/plain", "application/octet-stream", "application/json"
	tests := []struct {
		name, request, media, body string
		whole                      bool // limit answers it too
	}{
		{"plaintext", get, plain, "Hello, World!", true},
		{"plaintext with browser headers", browser, plain, "Hello, World!", true},
		{"json", "GET /json HTTP/1.1\r\nHost: a\r\n\r\n", json, `{"message":"Hello, World!"}`, false},
		{"echo of nothing", post("/echo", nil), octets, "", false},
		{"echo of one byte", post("/echo", body[:1]), octets, string(body[:1]), false},
		{"echo of 2 KB", post("/echo", body[:2049]), octets, string(body[:2049]), false},
		{"echo of 100 KB", post("/echo", body), octets, string(body), false},
		{"echo of chunks", postChunked("/echo", body, 1, 4095, 4097, 50_000), octets, string(body[:58_193]), false},
		{"upload of nothing", post("/upload", nil), plain, "0", false},
		{"upload of one byte", post("/upload", body[:1]), plain, "1", false},
		{"upload of 100 KB", post("/upload", body), plain, "100000", false},
		{"upload of chunks", postChunked("/upload", body, 1, 16, 17, 65_000), plain, "65034", false},
		{"bytes: one", "GET /bytes?size=1 HTTP/1.1\r\nHost: a\r\n\r\n", octets, "0", false},
		{"bytes: 1 KiB", "GET /bytes?size=1024 HTTP/1.1\r\nHost: a\r\n\r\n", octets, strings.Repeat("0123456789abcdef", 64), false},
		{"bytes: 10 MiB", "GET /bytes?size=10485760 HTTP/1.1\r\nHost: a\r\n\r\n", octets, strings.Repeat("0123456789abcdef", 10<<16), false},
		{"order", postJSON("/order", orders), json, `{"items":2,"total":399}`, false},
		{"order of nothing", postJSON("/order", "{}"), json, `{"items":0,"total":0}`, false},
		{"upload of no chunk", postChunked("/upload", nil), plain, "0", false},
	}
	each(t, subjects, func(t *testing.T, name string) {
		p := start(t, name)
		keptAlive := p.dial(t)
		for _, test := range tests {
			if name == "limit" && !test.whole {
				continue
			}
			method, _, _ := strings.Cut(test.request, " ")
			for _, c := range []*client{keptAlive, p.dial(t)} {
				c.send(t, test.request)
				answer, got := c.answer(t, method)
				if answer.StatusCode != http.StatusOK {
					t.Errorf("%s: %s", test.name, answer.Status)
				}
				if test.media == json {
					got = bytes.TrimSuffix(got, []byte("\n"))
				}
				if string(got) != test.body {
					t.Errorf("%s: body is %.100q, want %.100q", test.name, got, test.body)
				}
				checkType(t, answer, test.media)
				if answer.Header.Get("Content-Length") == "" || len(answer.TransferEncoding) > 0 {
					t.Errorf("%s: no Content-Length in %v", test.name, answer.Header)
				}
				if answer.Close {
					t.Errorf("%s: the connection is not kept alive", test.name)
				}
				if _, err := http.ParseTime(answer.Header.Get("Date")); err != nil {
					t.Errorf("%s: %v", test.name, err)
				}
			}
		}
	})
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		request string
		status  []int
	}{
		{"GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n", []int{404}},
		{"GET /upload HTTP/1.1\r\nHost: a\r\n\r\n", []int{404, 405}},
		{post("/plaintext", nil), []int{404, 405}},
		{postJSON("/order", "{"), []int{400}},
		{"GET /bytes HTTP/1.1\r\nHost: a\r\n\r\n", []int{400}},
		{"GET /bytes?size=0 HTTP/1.1\r\nHost: a\r\n\r\n", []int{400}},
		{"GET /bytes?size=10485761 HTTP/1.1\r\nHost: a\r\n\r\n", []int{400}},
		{"GET /stream?interval=100us HTTP/1.1\r\nHost: a\r\n\r\n", []int{400}},
		{"GET /stream?interval=2h HTTP/1.1\r\nHost: a\r\n\r\n", []int{400}},
		{"GET /stream?interval=1 HTTP/1.1\r\nHost: a\r\n\r\n", []int{400}},
		{"GET /stream?size=31 HTTP/1.1\r\nHost: a\r\n\r\n", []int{400}},
		{"GET /stream?size=65537 HTTP/1.1\r\nHost: a\r\n\r\n", []int{400}},
		{"GET /stream?size=x HTTP/1.1\r\nHost: a\r\n\r\n", []int{400}},
	}
	each(t, stacks, func(t *testing.T, name string) {
		p := start(t, name)
		for _, test := range tests {
			c := p.dial(t)
			c.send(t, test.request)
			method, _, _ := strings.Cut(test.request, " ")
			if answer, _ := c.answer(t, method); !slices.Contains(test.status, answer.StatusCode) {
				t.Errorf("%.60q: %s, want one of %v", test.request, answer.Status, test.status)
			}
		}
	})
}

// TestPipelining sends 16 requests at once, and in pieces that end anywhere.
func TestPipelining(t *testing.T) {
	const requests = 16
	burst := strings.Repeat(get, requests)
	each(t, subjects, func(t *testing.T, name string) {
		p := start(t, name)
		for _, piece := range []int{len(burst), 1, 3, 7, 13, len(get) - 1, len(get) + 1, 101, len(burst) - 1, len(burst) - 3} {
			c := p.dial(t)
			for rest := burst; len(rest) > 0; {
				n := min(piece, len(rest))
				c.send(t, rest[:n])
				rest = rest[n:]
				// Give the piece a chance to be read alone.
				runtime.Gosched()
			}
			for i := range requests {
				answer, body := c.answer(t, http.MethodGet)
				if answer.StatusCode != http.StatusOK || string(body) != subject.Hello {
					t.Fatalf("pieces of %d bytes, answer %d: %s with %q", piece, i, answer.Status, body)
				}
			}
			if n := c.in.Buffered(); n > 0 {
				t.Errorf("pieces of %d bytes: %d bytes too many", piece, n)
			}
		}
	})
}

func TestLimitBurst(t *testing.T) {
	p := start(t, "limit")
	requests := 100<<10/len(get) + 1
	c := p.dial(t)
	c.send(t, strings.Repeat(get, requests))
	for i := range requests {
		if answer, body := c.answer(t, http.MethodGet); answer.StatusCode != http.StatusOK || string(body) != subject.Hello {
			t.Fatalf("answer %d of %d: %s with %q", i, requests, answer.Status, body)
		}
	}
	if n := c.in.Buffered(); n > 0 {
		t.Errorf("%d bytes too many", n)
	}
}

func TestControl(t *testing.T) {
	titles := map[string]string{
		"nethttp": `net/http ` + runtime.Version(),
		"limit":   `limit ` + runtime.Version(),
	}
	each(t, subjects, func(t *testing.T, name string) {
		p := start(t, name)
		before := p.snapshot(t)
		c := p.dial(t)
		for range 1000 {
			c.send(t, get)
			c.answer(t, http.MethodGet)
		}
		after := p.snapshot(t)
		title := titles[name]
		switch {
		case title != "":
		case strings.HasPrefix(name, "redline"):
			title = `redline \(devel\)` // of this checkout
		default:
			title = name + ` \d+\.\d+\.\d+`
		}
		if !regexp.MustCompile("^" + title + "$").MatchString(after.Title) {
			t.Errorf("title is %q, want %q", after.Title, title)
		}
		if after.Schema != control.Schema || after.Subject != name || after.Go != runtime.Version() {
			t.Errorf("schema, subject, Go are %q, %q, %q", after.Schema, after.Subject, after.Go)
		}
		if after.GOMAXPROCS < 1 || after.Goroutines < 1 || after.HeapBytes == 0 || after.GCCycles < before.GCCycles {
			t.Errorf("wrong numbers: %+v", after)
		}
		if after.AllocObjects < before.AllocObjects || after.AllocBytes < before.AllocBytes {
			t.Errorf("fewer allocations than before: %+v, %+v", before, after)
		}
		// Two connections to the control socket allocate less than this.
		if n := after.AllocObjects - before.AllocObjects; name == "limit" && n > 100 {
			t.Errorf("%d allocations for 1000 requests", n)
		}
		if len(after.Pauses.LESeconds) != len(after.Pauses.Counts) {
			t.Errorf("pauses are %v", after.Pauses)
		}
	})
}

func TestPortTaken(t *testing.T) {
	each(t, subjects, func(t *testing.T, name string) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		addr := ln.Addr().String()
		p := launch(t, name, addr, "")
		if status := p.wait(t); status != 1 {
			t.Errorf("exit status %d, want 1", status)
		}
		for _, want := range []string{name + ": ", addr, syscall.EADDRINUSE.Error()} {
			if !strings.Contains(p.stderr.String(), want) {
				t.Errorf("stderr is %q, without %q", p.stderr.String(), want)
			}
		}
	})
}

// TestSignals ends subjects that have idle connections and streams.
func TestSignals(t *testing.T) {
	each(t, subjects, func(t *testing.T, name string) {
		for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
			p := start(t, name)
			idle, fresh, streaming := p.dial(t), p.dial(t), p.dial(t)
			idle.send(t, get)
			idle.answer(t, http.MethodGet)
			if name != "limit" {
				streaming.send(t, streamRequest("1h", 40))
				streaming.events(t)(40)
			}
			if status := p.stop(t, signal); status != 0 {
				t.Errorf("exit status %d after %v, want 0", status, signal)
			}
			for _, c := range []*client{idle, fresh, streaming} {
				if _, err := io.Copy(io.Discard, c.in); errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("a connection outlived its server: %v", err)
				}
			}
			if _, err := os.Lstat(p.control); !os.IsNotExist(err) {
				t.Errorf("the control socket is still there after %v: %v", signal, err)
			}
		}
	})
}

func streamRequest(interval string, size int) string {
	return "GET /stream?interval=" + interval + "&size=" + strconv.Itoa(size) + " HTTP/1.1\r\nHost: a\r\n\r\n"
}
