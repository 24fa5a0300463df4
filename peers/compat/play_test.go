package compat_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// hijackEcho takes the connection over and answers a line with a line.
func hijackEcho(w http.ResponseWriter, _ *http.Request) {
	conn, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer conn.Close()
	echoLines(rw)
}

func echoLines(rw *bufio.ReadWriter) {
	fmt.Fprint(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\n")
	rw.Flush()
	for {
		line, err := rw.ReadString('\n')
		if err != nil || line == "bye\n" {
			return
		}
		fmt.Fprintf(rw, "you said %s", line)
		rw.Flush()
	}
}

// playHijack talks to hijackEcho. The early lines come together with the head.
func playHijack(t *testing.T, r *report, s *service, path string, early ...string) {
	t.Helper()
	w := s.wire(t)
	w.send(t, "GET "+path+" HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\n"+strings.Join(early, ""))
	resp, err := http.ReadResponse(w.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.add("%s %v", resp.Status, resp.Header)
	next := lines(t, w.in)
	for range early {
		r.add("%s", next())
	}
	w.send(t, "late\n")
	r.add("%s", next())
	w.send(t, "bye\n")
	w.end(t, r)
}

// playEvents has events sent, each when the client has seen the one before: a
// server that holds one back never gets the next.
func playEvents(t *testing.T, r *report, s *service, path string, next chan<- string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "gzip")
	send := func(event string) {
		select {
		case next <- event:
		case <-ctx.Done():
			t.Error("no client receives the event")
		}
	}
	go send("event 0") // Do returns when the first has been flushed
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	r.add("%s %v %d", resp.Status, resp.TransferEncoding, resp.ContentLength)
	r.header("  ", resp.Header)
	body := io.Reader(resp.Body)
	if resp.Header.Get("Content-Encoding") == "gzip" {
		if body, err = gzip.NewReader(body); err != nil {
			t.Fatal(err)
		}
	}
	const events = 10
	in := bufio.NewReader(body)
	for i := range events {
		for seen := false; !seen; {
			line, err := in.ReadString('\n')
			if err != nil {
				t.Fatalf("before event %d: %v", i, err)
			}
			r.add("%s", line)
			seen = strings.Contains(line, fmt.Sprintf("event %d", i))
		}
		if i < events-1 {
			send(fmt.Sprintf("event %d", i+1))
		}
	}
	close(next)
	rest, err := io.ReadAll(in)
	r.add("then %q, %v", rest, err)
}
