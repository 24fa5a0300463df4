package redline_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/redline-go/redline"
)

// TestUnreadAnswers has many clients ask for a long answer and read no more than its
// head. Nobody keeps a copy of it for each of them.
func TestUnreadAnswers(t *testing.T) {
	const clients, size = 50, 4 << 20
	body := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	text := string(body)
	for name, h := range map[string]redline.HandlerFunc{
		"Bytes":       func(c *redline.Ctx) { _ = c.Bytes(200, "text/plain", body) },
		"Text":        func(c *redline.Ctx) { c.Text(200, text) },
		"WriteString": func(c *redline.Ctx) { _, _ = c.WriteString(text) },
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, transport redline.Transport) {
				r := serve(t, &redline.Server{Transport: transport, StallTimeout: -1, Native: h})
				before := heap()
				all := make([]*client, clients)
				for i := range all {
					all[i] = r.dial()
					all[i].ask("/")
				}
				for _, c := range all {
					c.response() // its head: the body is on its way
				}
				if grown := heap() - before; grown > clients*size/4 {
					t.Errorf("%d answers of %d bytes hold %d bytes", clients, size, grown)
				}
			})
		})
	}
}

// heap is the number of bytes in use on the heap.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestAnswerSizes answers with bodies shorter and longer than WriteBuffer, in every
// way that a response can be, one behind the other.
func TestAnswerSizes(t *testing.T) {
	const most = 8 << 10
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := serve(t, &redline.Server{Transport: transport, WriteBuffer: most, Native: func(c *redline.Ctx) {
			n, err := c.QueryInt("n")
			noError(t, err)
			noError(t, c.SetHeader("X-Set", "before"))
			answerWith(t, c, pattern(n))
		}})
		for _, n := range []int{0, 1, 5 << 10, most - 2, most - 1, most, most + 1, 40 << 10, 1 << 20} {
			want := pattern(n)
			c := r.dial()
			for _, how := range []string{"bytes", "text", "json", "written", "type", "nobody"} {
				c.ask(fmt.Sprintf("/%s?n=%d", how, n))
			}
			for _, how := range []string{"bytes", "text", "json", "written"} {
				resp := c.response()
				b, err := io.ReadAll(resp.Body)
				got := string(b)
				if how == "json" {
					noError(t, json.Unmarshal(b, &got))
				}
				if err != nil || got != want || resp.Header.Get("X-Set") != "before" || resp.ContentLength != int64(len(b)) {
					t.Errorf("%s, %d bytes: %d of them, %v, Content-Length %d, %v", how, n, len(b), err, resp.ContentLength, resp.Header)
				}
			}
			if status, body := c.answer(); status != 500 || body != "Internal Server Error\n" {
				t.Errorf("a type that cannot be, %d bytes: %d %.80q", n, status, body)
			}
			if status, body := c.answer(); status != 204 || body != "" {
				t.Errorf("a status without a body, %d bytes: %d %.80q", n, status, body)
			}
			c.send("HEAD /bytes?n=%d HTTP/1.1\r\nHost: h\r\n\r\nGET /trailer?n=%[1]d HTTP/1.1\r\nHost: h\r\n\r\n", n)
			if head := c.responseTo("HEAD"); n > 0 && head.ContentLength != int64(n) {
				t.Errorf("HEAD, %d bytes: Content-Length %d", n, head.ContentLength)
			}
			resp := c.response()
			if b, err := io.ReadAll(resp.Body); string(b) != want || err != nil || resp.Trailer.Get("X-End") != "here" {
				t.Errorf("with a trailer, %d bytes: %d of them, %v, %v", n, len(b), err, resp.Trailer)
			}
			c.want(fmt.Sprintf("/stream?n=%d", n), want+"more")
			c.want(fmt.Sprintf("/send?n=%d", n), "prebuilt")
			old := r.dial()
			old.send("GET /bytes?n=%d HTTP/1.0\r\n\r\n", n)
			if status, body := old.answer(); status != 200 || body != want {
				t.Errorf("HTTP/1.0, %d bytes: %d and %d bytes", n, status, len(body))
			}
		}
	})
}

var prebuilt, _ = redline.Prebuild(200, "text/plain", []byte("prebuilt"))

// answerWith answers with a body in the way that the request's path says.
func answerWith(t *testing.T, c *redline.Ctx, body string) {
	switch c.Path() {
	case "/bytes":
		b := []byte(body)
		noError(t, c.Bytes(200, "text/plain", b))
		for i := range b {
			b[i] = '!' // it is the handler's again
		}
	case "/text":
		c.Text(200, body)
	case "/json":
		noError(t, c.JSON(200, body))
	case "/written":
		c.SetContentLength(int64(len(body)))
		_, err := c.WriteString(body)
		noError(t, err)
	case "/type":
		if err := c.Bytes(200, "a\nb", []byte(body)); !errors.Is(err, redline.ErrFieldValue) {
			t.Errorf("a type that cannot be: %v", err)
		}
		c.Error(500)
	case "/nobody":
		noError(t, c.Bytes(204, "text/plain", []byte(body)))
	case "/trailer":
		noError(t, c.SetTrailer("X-End", "here"))
		noError(t, c.Bytes(200, "text/plain", []byte(body)))
	case "/stream":
		c.Stream(func(s *redline.Stream) {
			_, err := s.Write([]byte("more"))
			noError(t, errors.Join(err, s.Close()))
		})
		noError(t, c.Bytes(200, "text/plain", []byte(body)))
	case "/send":
		c.Send(prebuilt)
		noError(t, c.Bytes(200, "text/plain", []byte(body)))
	}
}

// TestLargeAnswerIsWhole has nothing follow what was sent at once.
func TestLargeAnswerIsWhole(t *testing.T) {
	body := pattern(200 << 10)
	h := redline.HandlerFunc(func(c *redline.Ctx) {
		if c.Path() == "/end" {
			c.Text(200, "")
			return
		}
		noError(t, c.Bytes(200, "text/plain", []byte(body)))
		if err := c.SetHeader("A", "b"); !errors.Is(err, redline.ErrHeadSent) {
			t.Errorf("SetHeader behind it: %v", err)
		}
		for range 2 {
			if _, err := c.WriteString("more"); !errors.Is(err, redline.ErrLength) {
				t.Errorf("WriteString behind it: %v", err)
			}
		}
		if err := c.Bytes(200, "text/plain", []byte(body)); !errors.Is(err, redline.ErrLength) {
			t.Errorf("Bytes behind it: %v", err)
		}
	})
	onEach(t, func(t *testing.T, transport redline.Transport) {
		c := serve(t, &redline.Server{Transport: transport, Native: h}).dial()
		c.want("/", body)
		c.want("/", body)
		c.want("/end", "") // the handler has returned: until then the server is not closed
	})
	onEach(t, func(t *testing.T, transport redline.Transport) {
		kept := redline.HandlerFunc(func(c *redline.Ctx) {
			noError(t, c.Bytes(200, "text/plain", []byte(body)))
			noError(t, c.SetHeader("A", "b"))
			_, err := c.WriteString("more")
			noError(t, err)
		})
		resp, got := fetch(t, serve(t, &redline.Server{Transport: transport, WriteBuffer: -1, Native: kept}), "GET", "/")
		if got != body+"more" || resp.Header.Get("A") != "b" {
			t.Errorf("without a bound: %d bytes, %v", len(got), resp.Header)
		}
	})
	w := httptest.NewServer(h)
	defer w.Close()
	resp, err := http.Get(w.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); string(b) != body || err != nil || resp.ContentLength != int64(len(body)) {
		t.Errorf("under net/http: %d bytes, %v, Content-Length %d", len(b), err, resp.ContentLength)
	}
}

// TestLargeAnswerGone says why a client did not get what was sent at once.
func TestLargeAnswerGone(t *testing.T) {
	body := []byte(strings.Repeat("0123456789abcdef", 1<<20))
	onEach(t, func(t *testing.T, transport redline.Transport) {
		said := make(chan error, 1)
		r := serve(t, &redline.Server{Transport: transport, StallTimeout: -1, Native: func(c *redline.Ctx) {
			if c.Path() == "/json" {
				said <- c.JSON(200, string(body))
				return
			}
			said <- c.Bytes(200, "text/plain", body)
		}})
		for _, path := range []string{"/bytes", "/json"} {
			c := r.dial()
			c.ask(path)
			c.response()
			c.reset()
			if err := receive(t, said, "the handler knows"); !errors.Is(err, redline.ErrGone) {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
}

// TestSendFileStream sends a file ahead of a stream, which goes on behind it.
func TestSendFileStream(t *testing.T) {
	content := pattern(100 << 10)
	dir, _ := tree(t, map[string]string{"a": content})
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := serve(t, &redline.Server{Transport: transport, Native: func(c *redline.Ctx) {
			f, err := os.Open(filepath.Join(dir, "a"))
			noError(t, err)
			defer f.Close()
			c.Stream(func(s *redline.Stream) {
				_, err := s.Write([]byte("more"))
				noError(t, errors.Join(err, s.Close()))
			})
			noError(t, c.SendFile(f, 0, int64(len(content))))
		}})
		r.dial().want("/", content+"more")
	})
}
