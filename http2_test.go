package redline_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/redline-go/redline"
)

// http2Client returns a client that speaks HTTP/2 over one connection, in clear or over TLS.
func http2Client(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{Protocols: new(http.Protocols), TLSClientConfig: clientTLS()}
	tr.Protocols.SetUnencryptedHTTP2(true)
	tr.Protocols.SetHTTP2(true)
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// inClear makes a server speak HTTP/2 in clear, beside HTTP/1.
func inClear(s *redline.Server) *redline.Server {
	s.Protocols = new(http.Protocols)
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	return s
}

// megabyte is the content of large responses: 1 MiB.
var megabyte = bytes.Repeat([]byte("0123456789abcdef"), 64<<10)

// kinds returns handlers of every kind.
func kinds() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello ", r.Proto, " ", r.Host, " ", r.URL.Query().Get("q"))
	})
	mux.HandleFunc("/big", func(w http.ResponseWriter, _ *http.Request) { w.Write(megabyte) })
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	mux.HandleFunc("/trailer", func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		w.Header().Set("Trailer", "X-Sum")
		fmt.Fprint(w, n, r.Trailer.Get("X-In"))
		w.Header().Set("X-Sum", "done")
	})
	mux.HandleFunc("/flush", func(w http.ResponseWriter, _ *http.Request) {
		for i := range 3 {
			fmt.Fprint(w, i)
			w.(http.Flusher).Flush()
		}
	})
	mux.HandleFunc("/none", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })
	return mux
}

// TestHTTP2 plays exchanges of every kind over HTTP/2, one after the other and side by side.
func TestHTTP2(t *testing.T) {
	mux := kinds()
	onEach(t, func(t *testing.T, name redline.Transport) {
		server := serve(t, inClear(&redline.Server{Transport: name, Handler: mux}))
		host := server.addr.String()
		base, client := server.url(), http2Client(t)
		get := func(method, path string, body io.Reader) (*http.Response, string) {
			t.Helper()
			r, err := http.NewRequest(method, base+path, body)
			if err != nil {
				t.Fatal(err)
			}
			if path == "/trailer" {
				r.Trailer = http.Header{"X-In": {"in"}}
			}
			resp, err := client.Do(r)
			if err != nil {
				t.Fatal(method, path, err)
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(method, path, err)
			}
			return resp, string(text)
		}
		resp, text := get("GET", "/hello?q=1", nil)
		if want := "hello HTTP/2.0 " + host + " 1"; text != want || resp.ProtoMajor != 2 {
			t.Errorf("%q, want %q", text, want)
		}
		if _, text := get("GET", "/big", nil); text != string(megabyte) {
			t.Errorf("big: %d bytes", len(text))
		}
		if _, text := get("POST", "/echo", bytes.NewReader(megabyte)); text != string(megabyte) {
			t.Errorf("echo: %d bytes", len(text))
		}
		if resp, text := get("POST", "/trailer", io.MultiReader(strings.NewReader("12345"))); text != "5in" || resp.Trailer.Get("X-Sum") != "done" {
			t.Errorf("trailer: %q, %v", text, resp.Trailer)
		}
		if _, text := get("GET", "/flush", nil); text != "012" {
			t.Errorf("flush: %q", text)
		}
		if resp, text := get("GET", "/none", nil); text != "" || resp.StatusCode != 204 {
			t.Errorf("none: %q, %v", text, resp.Status)
		}
		if resp, _ := get("HEAD", "/big", nil); resp.StatusCode != 200 {
			t.Errorf("head: %v", resp.Status)
		}
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				path := []string{"/hello", "/big", "/flush", "/echo"}[i%4]
				resp, err := client.Post(base+path, "text/plain", strings.NewReader(strings.Repeat("x", i*100)))
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				if n, err := io.Copy(io.Discard, resp.Body); err != nil || path == "/big" && n != int64(len(megabyte)) {
					t.Error(path, n, err)
				}
			})
		}
		all.Wait()
	})
}
