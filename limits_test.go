package redline_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// lines are n field lines.
func lines(n int) string { return strings.Repeat("A: b\r\n", n) }

// chunk is content in one chunk.
func chunk(n int) string { return fmt.Sprintf("%x\r\n%s\r\n", n, strings.Repeat("x", n)) }

// overhead is content of one-byte chunks with extensions.
func overhead(n, ext int) string {
	return strings.Repeat("1;"+strings.Repeat("e", ext-1)+"\r\nx\r\n", n) + "0\r\n\r\n"
}

// TestLimits goes up to each limit, and one past it.
func TestLimits(t *testing.T) {
	limits := redline.Limits{
		MaxHeadBytes: 300, MaxFields: 10, MaxTargetBytes: 100, MaxBodyBytes: 50,
		MaxTrailerBytes: 40, MaxChunkExtBytes: 20, MaxChunkOverhead: 60,
	}
	pad := func(n int) string { // a head of n bytes
		head := getHead + "P: \r\n\r\n"
		return strings.Replace(head, "P: ", "P: "+strings.Repeat("p", n-len(head)), 1)
	}
	trailer := func(n int) string {
		return chunkHead + "0\r\nT: " + strings.Repeat("t", n-len("T: \r\n\r\n")) + "\r\n\r\n"
	}
	length := func(n int) string {
		return postHead + fmt.Sprintf("Content-Length: %d\r\n\r\n", n) + strings.Repeat("x", n)
	}
	cases := []struct {
		limit    string
		fit, not string
		status   int
	}{
		{"MaxHeadBytes", pad(300), pad(301), 431},
		{"MaxFields", getHead + lines(9) + "\r\n", getHead + lines(10) + "\r\n", 431},
		{"MaxTargetBytes", "GET /" + strings.Repeat("a", 99) + " HTTP/1.1\r\nHost: h\r\n\r\n", "GET /" + strings.Repeat("a", 100) + " HTTP/1.1\r\nHost: h\r\n\r\n", 414},
		{"MaxBodyBytes, announced", length(50), length(51), 413},
		{"MaxBodyBytes, chunked", chunkHead + chunk(50) + "0\r\n\r\n", chunkHead + chunk(51) + "0\r\n\r\n", 413},
		{"MaxBodyBytes, chunks", chunkHead + chunk(25) + chunk(25) + "0\r\n\r\n", chunkHead + chunk(25) + chunk(26) + "0\r\n\r\n", 413},
		{"MaxTrailerBytes", trailer(40), trailer(41), 431},
		{"MaxFields in trailers", chunkHead + "0\r\n" + strings.Repeat("a:\r\n", 9) + "\r\n", chunkHead + "0\r\n" + strings.Repeat("a:\r\n", 11) + "\r\n", 431},
		{"MaxChunkExtBytes", chunkHead + overhead(1, 20), chunkHead + overhead(1, 21), 400},
		{"MaxChunkOverhead", chunkHead + overhead(10, 19), chunkHead + overhead(20, 19), 400},
	}
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r, seen := counted(t, transport, limits)
		for _, m := range cases {
			c := r.dial()
			c.send("%s", m.fit)
			if status, body := c.answer(); status != 200 {
				t.Errorf("%s, up to it: %d %q", m.limit, status, body)
			}
			c.send("%s", m.not+smuggled)
			wantRefusal(t, m.limit+", past it", c, m.status)
		}
		if n := seen.Load(); n > 0 {
			t.Errorf("%d smuggled requests were seen", n)
		}
	})
}

// TestMaxHeaderBytes bounds heads where net/http does.
func TestMaxHeaderBytes(t *testing.T) {
	const most = 1000
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	l := loopback(t)
	reference := &http.Server{Handler: handler, MaxHeaderBytes: most}
	served := make(chan error, 1)
	go func() { served <- reference.Serve(l) }()
	status := func(addr net.Addr, size int) int {
		began := time.Now()
		c, err := net.DialTimeout("tcp", addr.String(), patience)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		head := getHead + "P: \r\n\r\n"
		b := bounded(t, c, began)
		b.send("%s", strings.Replace(head, "P: ", "P: "+strings.Repeat("p", size-len(head)), 1))
		return b.response().StatusCode
	}
	sizes := map[int]int{}
	for _, size := range []int{500, most, most + 1, 1500, 3000, 4900, most + 4000, most + 4200, 9000} {
		sizes[size] = status(l.Addr(), size)
	}
	if err := errors.Join(reference.Close(), <-served); !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	if sizes[4900] != 200 || sizes[9000] != 431 {
		t.Fatalf("net/http: %v", sizes)
	}
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := serve(t, &redline.Server{Transport: transport, Handler: handler, MaxHeaderBytes: most})
		for size, want := range sizes {
			if got := status(r.addr, size); got != want {
				t.Errorf("a head of %d bytes: %d, want %d as net/http", size, got, want)
			}
		}
		exact := serve(t, &redline.Server{
			Transport: transport, Handler: handler, MaxHeaderBytes: most, Limits: redline.Limits{MaxHeadBytes: 600},
		})
		for size, want := range map[int]int{600: 200, 601: 431} {
			if got := status(exact.addr, size); got != want {
				t.Errorf("a head of %d bytes, with Limits: %d, want %d", size, got, want)
			}
		}
	}, overTLS)
}

// TestHugeHeaders bounds what many long, different field names may cost:
// CVE-2022-41717.
func TestHugeHeaders(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r, _ := counted(t, transport, redline.Limits{})
		c := r.dial()
		var b strings.Builder
		for i := range 100 {
			fmt.Fprintf(&b, "%s%d: x\r\n", strings.Repeat("n", 4000), i)
		}
		if _, err := c.Write([]byte(getHead + b.String() + "\r\n")); err != nil {
			t.Logf("answered before all was sent: %v", err)
		}
		wantRefusal(t, "100 names of 4 KB", c, 431)
	})
}

// TestAcceptRate takes connections no faster than it is told.
func TestAcceptRate(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := serve(t, &redline.Server{Transport: transport, AcceptRate: 20, Native: text("x")})
		start := time.Now()
		for range 30 { // a second's worth may come at once
			c := r.dial()
			c.want("/", "x")
			c.Close()
		}
		if d := time.Since(start); d < 100*time.Millisecond {
			t.Errorf("30 connections at 20 a second took %v", d)
		}
	})
}
