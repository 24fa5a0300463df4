package scripted

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// server runs Serve in this process.
type server struct {
	orders *io.PipeWriter
	lines  *bufio.Scanner
	url    string
	client *http.Client
}

func serveOf(t *testing.T, mode string) *server {
	t.Helper()
	in, orders := io.Pipe()
	out, said := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Serve(mode, in, said) }()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	s := &server{orders: orders, lines: bufio.NewScanner(out), client: &http.Client{Timeout: 30 * time.Second, Transport: transport}}
	if !s.lines.Scan() {
		t.Fatal("it prints no address")
	}
	s.url = "http://" + s.lines.Text() + "/"
	if mode == HTTP2 {
		s.url = "https://" + s.lines.Text() + "/"
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := orders.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *server) order(t *testing.T, line, want string) {
	t.Helper()
	if _, err := fmt.Fprintln(s.orders, line); err != nil {
		t.Fatal(err)
	}
	if !s.lines.Scan() || s.lines.Text() != want {
		t.Errorf("%s: %q, want %q", line, s.lines.Text(), want)
	}
}

func (s *server) get(t *testing.T) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.client.Do(req)
	if err != nil {
		t.Error(err)
		return nil
	}
	body, err := io.ReadAll(res.Body)
	if err != nil || string(body) != Body {
		t.Errorf("%q, %v", body, err)
	}
	if err := res.Body.Close(); err != nil {
		t.Error(err)
	}
	return res
}

func TestServeHTTP2(t *testing.T) {
	s := serveOf(t, HTTP2)
	s.order(t, "count", "0")
	if res := s.get(t); res != nil && res.ProtoMajor != 2 {
		t.Errorf("it speaks %s", res.Proto)
	}
	// More than the window of a new connection takes: net/http opens it again.
	const more = 6000
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range more / 8 {
				s.get(t)
			}
		})
	}
	all.Wait()
	s.order(t, "count", fmt.Sprint(more+1))
}

// Data that is not HTTP/2 ends its own connection only.
func TestServeHTTP2RefusesOthers(t *testing.T) {
	s := serveOf(t, HTTP2)
	c, err := tls.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(s.url, "https://"), "/"), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: here\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(c); len(text) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%q, %v", text, err)
	}
	s.get(t)
	s.order(t, "count", "1")
}

// No answer is early, and all requests that wait in a stall are answered.
func TestServeStall(t *testing.T) {
	s := serveOf(t, Stalls)
	begun := time.Now()
	s.get(t)
	if took := time.Since(begun); took < Service {
		t.Errorf("answered after %v, before its time", took)
	}
	const stall = 200 * time.Millisecond
	begun = time.Now() // before the server's stall
	s.order(t, "stall "+stall.String(), "ok")
	ordered := time.Now()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			came := time.Now()
			s.get(t)
			// The stall began between begun and ordered.
			if now := time.Now(); came.Before(begun.Add(stall)) && now.Before(begun.Add(stall)) {
				t.Errorf("answered %v after the stall began", now.Sub(begun))
			}
		})
	}
	all.Wait()
	if took := time.Since(ordered); took < stall/2 && ordered.Sub(begun) < stall/2 {
		t.Errorf("the stall took %v", took)
	}
	s.order(t, "count", "21")
}

func TestServeRefuses(t *testing.T) {
	if err := Serve("ftp", http.NoBody, io.Discard); err == nil {
		t.Error("an unknown mode")
	}
}
