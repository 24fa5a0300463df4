package redline_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// TestHTTP2Record gives requests that begin at the same time one record of their connection,
// and calls ConnContext once. The first one takes its time on the loop, which is taken over.
func TestHTTP2Record(t *testing.T) {
	type key struct{}
	onEach(t, func(t *testing.T, name redline.Transport) {
		var contexts sync.Map // of a connection
		server := serve(t, inClear(&redline.Server{
			Transport: name,
			ConnContext: func(ctx context.Context, c net.Conn) context.Context {
				_, again := contexts.LoadOrStore(c.RemoteAddr().String(), true)
				return context.WithValue(ctx, key{}, !again)
			},
			ConnState: func(c net.Conn, _ http.ConnState) { _ = c.LocalAddr() },
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for end := time.Now().Add(5 * time.Millisecond); time.Now().Before(end); {
					runtime.Gosched()
				}
				fmt.Fprint(w, r.Context().Value(key{}), r.RemoteAddr != "", r.TLS != nil)
			}),
		}))
		client := http2Client(t)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				resp, err := client.Get(server.url())
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				if b, err := io.ReadAll(resp.Body); err != nil || string(b) != fmt.Sprint(true, true, server.secure) {
					t.Errorf("%q, %v", b, err)
				}
			})
		}
		all.Wait()
	})
}

// TestHTTP2Ends ends streams in several ways, while another one of the connection goes on.
//
//archtest:long the handlers, and what becomes of each
func TestHTTP2Ends(t *testing.T) {
	ends := map[string]string{
		"/abort": "INTERNAL_ERROR", "/exit": "INTERNAL_ERROR", "/lies": "INTERNAL_ERROR", "/switch": "500", "/limit": "413", "/hello": "200",
	}
	onEach(t, func(t *testing.T, name redline.Transport) {
		gone, release := make(chan error, 1), make(chan struct{})
		mux := kinds()
		mux.HandleFunc("/abort", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "part")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		})
		mux.HandleFunc("/exit", func(http.ResponseWriter, *http.Request) { runtime.Goexit() })
		mux.HandleFunc("/lies", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			fmt.Fprint(w, "short")
		})
		mux.HandleFunc("/switch", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(101) })
		mux.HandleFunc("/limit", func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 5)); err != nil {
				http.Error(w, "too long", http.StatusRequestEntityTooLarge)
			}
		})
		mux.HandleFunc("/gone", func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			gone <- r.Context().Err()
		})
		mux.HandleFunc("/stays", func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-release
			fmt.Fprint(w, "stays ", r.Context().Err())
		})
		server := serve(t, inClear(&redline.Server{Transport: name, Handler: mux, ErrorLog: log.New(io.Discard, "", 0)}))
		client := http2Client(t)
		stays, err := client.Get(server.url() + "/stays")
		if err != nil {
			t.Fatal(err)
		}
		defer stays.Body.Close()
		for path, want := range ends {
			got := ""
			resp, err := client.Post(server.url()+path, "text/plain", strings.NewReader("0123456789"))
			if err == nil {
				got = resp.Status
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if got = fmt.Sprint(got, err); !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %s", path, got, want)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		r, err := http.NewRequestWithContext(ctx, "GET", server.url()+"/gone", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := receive(t, gone, "the context ends with its stream"); err != context.Canceled {
			t.Error(err)
		}
		resp.Body.Close()
		close(release)
		if b, err := io.ReadAll(stays.Body); err != nil || string(b) != "stays <nil>" {
			t.Errorf("%q, %v", b, err)
		}
	})
}

// TestHTTP2ShutdownPreconnected does not wait for clients that have connected ahead of their first
// request, as browsers do: they learn by GOAWAY that a request on its way was not processed.
func TestHTTP2ShutdownPreconnected(t *testing.T) {
	onEach(t, func(t *testing.T, name redline.Transport) {
		server := serve(t, inClear(&redline.Server{Transport: name, Handler: kinds()}))
		c := server.dialHTTP2()
		c.send("%s", hello2(1<<16-1))
		for acknowledged := false; !acknowledged; {
			kind, flags, _, err := readFrame2(c)
			noError(t, err)
			acknowledged = kind == kindSettings && flags == ackFlag
		}
		noError(t, server.shutdown(3*time.Second)) // a client that has said nothing would have 5 s
		kind, _, payload, err := readFrame2(c)
		if kind != kindGoAway || string(payload) != "\x00\x00\x00\x00\x00\x00\x00\x00" || err != nil {
			t.Errorf("a frame of type %d: %x, %v", kind, payload, err)
		}
		c.wantGone()
	})
}

// dialHTTP2 is dial for a client that speaks HTTP/2.
func (r *running) dialHTTP2() *client {
	r.t.Helper()
	began := time.Now()
	conn, err := net.DialTimeout("tcp", r.addr.String(), patience)
	noError(r.t, err)
	if r.secure {
		conn, err = handshake(conn, "h2")
		noError(r.t, err)
	}
	return bounded(r.t, conn, began)
}

// TestHTTP2RefusedOnce answers what Go's client may send and HTTP/2 does not allow: it repeats a request
// that gets no answer.
func TestHTTP2RefusedOnce(t *testing.T) {
	onEach(t, func(t *testing.T, name redline.Transport) {
		server := serve(t, inClear(&redline.Server{Transport: name, Handler: kinds()}))
		client := http2Client(t)
		for i, c := range []struct{ method, path, field, value string }{
			{"FOO", "*", "", ""},
			{"GET", "*", "", ""},
			{"GET", "/hello", "Te", "gzip"},
			{"GET", "/hello", "X-Blank", "value "},
		} {
			r, err := http.NewRequest(c.method, server.url(), nil)
			noError(t, err)
			if r.URL.Path = c.path; c.field != "" {
				r.Header.Set(c.field, c.value)
			}
			resp, err := client.Do(r)
			if err != nil {
				t.Errorf("%s: %v", c, err)
				continue
			}
			resp.Body.Close()
			if n := server.Stats().HTTP2.Streams; resp.StatusCode != 400 || n != uint64(i+1) {
				t.Errorf("%s: %s, after %d streams, want 400 after %d", c, resp.Status, n, i+1)
			}
		}
	})
}
