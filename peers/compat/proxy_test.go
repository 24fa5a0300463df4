package compat_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"net/textproto"
	"net/url"
	"strings"
	"testing"
)

// TestProxyInFront has a ReverseProxy on the carrier, for a service on net/http.
func TestProxyInFront(t *testing.T) {
	compare(t, func(t *testing.T, c carrier, r *report) { playProxy(t, r, c, netHTTP) })
}

// TestProxyBehind has a ReverseProxy on net/http, for a service on the carrier.
func TestProxyBehind(t *testing.T) {
	compare(t, func(t *testing.T, c carrier, r *report) { playProxy(t, r, netHTTP, c) })
}

// TestProxyToItself has both on the carrier.
func TestProxyToItself(t *testing.T) {
	compare(t, func(t *testing.T, c carrier, r *report) { playProxy(t, r, c, c) })
}

func playProxy(t *testing.T, r *report, front, behind carrier) {
	next := make(chan string)
	back := behind.start(t, backend(r, next))
	s := front.start(t, proxyTo(t, back))
	r.get(t, s, "/plain?a=b;c", "X-Forwarded-For: 192.0.2.7", "Connection: X-Hop", "X-Hop: 1", "Te: trailers")
	r.do(t, s, "HEAD", "/plain", nil)
	r.do(t, s, "POST", "/digest", bytes.NewReader(pattern(8<<20)))
	r.do(t, s, "POST", "/digest", struct{ io.Reader }{bytes.NewReader(pattern(8 << 20))})
	r.get(t, s, "/big")
	r.get(t, s, "/trailers")
	playRequestTrailers(t, r, s)
	playEarlyHints(t, r, s)
	playContinue(t, r, s)
	playDuplex(t, r, s)
	playHijack(t, r, s, "/hijack") // with nothing early: a ReverseProxy loses it
	playEvents(t, r, s, "/events", next)
	r.get(t, s, "/abort")
	r.get(t, s, "/status")
}

// proxyTo is a ReverseProxy as one writes it.
func proxyTo(t *testing.T, back *service) http.Handler {
	to, err := url.Parse(back.url)
	if err != nil {
		t.Fatal(err)
	}
	p := &httputil.ReverseProxy{
		Rewrite: func(q *httputil.ProxyRequest) {
			q.SetURL(to)
			q.SetXForwarded()
		},
		Transport: back.client.Transport,
		ErrorLog:  log.New(io.Discard, "", 0), // receives the error of the service that breaks off
	}
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		// What net/http needs to pass both directions on at once.
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		p.ServeHTTP(w, q)
	})
}

// backend is a service with everything that a proxy has to pass on.
func backend(r *report, next <-chan string) http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("/plain", func(w http.ResponseWriter, q *http.Request) {
		r.add("%s %s from %s for %s", q.Method, q.RequestURI, q.Header["X-Forwarded-For"], q.Header["X-Forwarded-Proto"])
		r.add("hop %q, te %q, agent %q", q.Header["X-Hop"], q.Header["Te"], q.Header["User-Agent"])
		w.Header().Set("X-Answer", "1")
		io.WriteString(w, "plain")
	})
	m.HandleFunc("POST /digest", func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		fmt.Fprintf(w, "%s, length %d, %q, %v", brief(body), q.ContentLength, q.TransferEncoding, err)
		r.add("trailer %v", q.Trailer)
	})
	m.HandleFunc("/big", func(w http.ResponseWriter, _ *http.Request) { w.Write(pattern(8 << 20)) })
	m.HandleFunc("/trailers", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Announced")
		io.WriteString(w, "body")
		w.Header().Set("X-Announced", "after the body")
		w.Header().Set(http.TrailerPrefix+"X-Surprise", "too")
	})
	m.HandleFunc("/early", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload; as=style")
		w.WriteHeader(http.StatusEarlyHints)
		io.WriteString(w, "at last")
	})
	m.HandleFunc("POST /refused", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		http.Error(w, "no", http.StatusExpectationFailed)
	})
	m.HandleFunc("POST /duplex", func(w http.ResponseWriter, q *http.Request) {
		flow := http.NewResponseController(w)
		if err := flow.EnableFullDuplex(); err != nil {
			r.add("full duplex: %v", err)
		}
		w.WriteHeader(http.StatusOK)
		flow.Flush()
		for in := bufio.NewScanner(q.Body); in.Scan(); {
			fmt.Fprintf(w, "you said %s\n", in.Text())
			flow.Flush()
		}
	})
	m.HandleFunc("/hijack", hijackEcho)
	m.HandleFunc("/events", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for event := range next {
			fmt.Fprintf(w, "data: %s\n\n", event)
			w.(http.Flusher).Flush()
		}
	})
	m.HandleFunc("/abort", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "half of")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	m.HandleFunc("/status", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) })
	return m
}

// playRequestTrailers sends trailers behind a body.
func playRequestTrailers(t *testing.T, r *report, s *service) {
	w := s.wire(t)
	w.send(t, "POST /digest HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\nConnection: close\r\n\r\n4\r\nbody\r\n0\r\nX-Sum: 7\r\n\r\n")
	w.answer(t, r, "POST")
	w.end(t, r)
}

// playEarlyHints looks for the informational answer before the answer.
func playEarlyHints(t *testing.T, r *report, s *service) {
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			r.add("%d with %q", code, h["Link"])
			return nil
		},
	}), "GET", s.url+"/early", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.client.Do(req)
	r.answer(t, "early hints", resp, err)
}

// playContinue sends bodies that have to be asked for first.
func playContinue(t *testing.T, r *report, s *service) {
	const head = " HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"
	w := s.wire(t)
	w.send(t, "POST /digest"+head)
	resp, err := http.ReadResponse(w.in, &http.Request{Method: "POST"})
	if err != nil {
		t.Fatal(err)
	}
	r.add("asked for by %s", resp.Status)
	w.send(t, "body")
	w.answer(t, r, "POST")
	w = s.wire(t)
	w.send(t, "POST /refused"+head)
	w.answer(t, r, "POST")
}

// playDuplex sends a line when the line before has come back.
func playDuplex(t *testing.T, r *report, s *service) {
	w := s.wire(t)
	w.send(t, "POST /duplex HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
	resp, err := http.ReadResponse(w.in, &http.Request{Method: "POST"})
	if err != nil {
		t.Fatal(err)
	}
	r.add("%s %v", resp.Status, resp.TransferEncoding)
	next := lines(t, resp.Body)
	for i := range 5 {
		line := strings.Repeat(fmt.Sprintf("line %d ", i), 1+i*1000) + "\n"
		w.send(t, fmt.Sprintf("%x\r\n%s\r\n", len(line), line))
		r.add("%s", brief([]byte(next())))
	}
	w.send(t, "0\r\n\r\n")
	rest, err := io.ReadAll(resp.Body)
	r.add("then %q, %v", rest, err)
}
