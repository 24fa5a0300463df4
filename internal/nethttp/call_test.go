package nethttp

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/redline-go/redline/internal/exchange"
)

// A still is the session of one exchange that nothing is sent of.
type still struct {
	exchange.Session
	slot   atomic.Value
	shared sync.Locker
}

func (s *still) Connection() exchange.Conn { return s }
func (s *still) Share(l sync.Locker)       { s.shared = l }
func (s *still) Slot() *atomic.Value       { return &s.slot }
func (s *still) RemoteAddr() net.Addr      { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 5} }
func (s *still) LocalAddr() net.Addr       { return s.RemoteAddr() }
func (s *still) TLS() *exchange.TLSState   { return nil }

// newStill returns an exchange with the request "GET / HTTP/1.1".
func newStill() *exchange.Exchange {
	x := &exchange.Exchange{Session: &still{}}
	x.Reset()
	x.Head = []byte("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	x.Method, x.Version = exchange.LookupMethod([]byte("GET")), exchange.Version(1<<8|1)
	x.RawMethod, x.Target, x.Path = exchange.Span{Off: 0, Len: 3}, exchange.Span{Off: 4, Len: 1}, exchange.Span{Off: 4, Len: 1}
	return x
}

func quietConfig(t *testing.T) *Config {
	return &Config{
		Server: new(http.Server), Base: context.Background(), Panicked: func() {},
		Log: func(format string, args ...any) { t.Logf(format, args...) },
	}
}

// TestCallAllocations counts what a request costs: the call, the copy of its head,
// and an empty header. The call fits the allocator's class of 576 bytes, of which 8 are
// its own.
func TestCallAllocations(t *testing.T) {
	if size := unsafe.Sizeof(call{}); size > 568 {
		t.Errorf("a call is %d bytes long, which takes 640", size)
	}
	cfg, x, body := quietConfig(t), newStill(), []byte("x")
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(body) })
	var interfaces any = h // as the server has it
	head := x.Head
	got := testing.AllocsPerRun(1000, func() {
		x.ResetResponse()
		x.Head = head
		cfg.Serve(x, interfaces.(http.Handler), Known)
	})
	if got > 3 || string(x.Body) != "x" {
		t.Errorf("%v allocations for %q", got, x.Body)
	}
}

// TestShareIsBalanced looks at who has the exchange behind every end of a call.
func TestShareIsBalanced(t *testing.T) {
	for name, k := range map[string]struct {
		h      http.HandlerFunc
		change func(cfg *Config, x *exchange.Exchange)
	}{
		"return": {h: func(http.ResponseWriter, *http.Request) {}},
		"panic":  {h: func(http.ResponseWriter, *http.Request) { panic("at the disco") }},
		"refused": {change: func(_ *Config, x *exchange.Exchange) {
			x.Head = []byte("GET % HTTP/1.1\r\n\r\n") // no URL
		}},
		"hook panics": {change: func(cfg *Config, _ *exchange.Exchange) {
			cfg.ConnContext = func(context.Context, net.Conn) context.Context { panic("in a hook") }
		}},
		"log panics": {
			h:      func(http.ResponseWriter, *http.Request) { panic("at the disco") },
			change: func(cfg *Config, _ *exchange.Exchange) { cfg.Log = func(string, ...any) { panic("in the log") } },
		},
	} {
		cfg, x := quietConfig(t), newStill()
		if k.change != nil {
			k.change(cfg, x)
		}
		func() {
			defer func() {
				if p := recover(); p != nil && name != "log panics" {
					t.Errorf("%s: %v", name, p)
				}
			}()
			cfg.Serve(x, k.h, Known)
		}()
		if x.Session.(*still).shared != nil {
			t.Errorf("%s: the exchange is still shared", name)
		}
	}
}

// TestContextWithoutField runs a handler as a version of Go would have it whose
// http.Request calls its context otherwise.
func TestContextWithoutField(t *testing.T) {
	type other struct{ context context.Context }
	_ = other{}.context
	if at := findContext(reflect.TypeFor[other](), "ctx"); at != noContext {
		t.Errorf("found at %d", at)
	}
	if at := findContext(reflect.TypeFor[other](), "context"); at != 0 {
		t.Errorf("not found: %d", at)
	}
	if contextOffset == noContext {
		t.Error("this version of Go calls it otherwise: every request costs an allocation more")
	}
	defer func(at uintptr) { contextOffset = at }(contextOffset)
	contextOffset = noContext
	cfg, x := quietConfig(t), newStill()
	var kept context.Context
	cfg.Serve(x, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kept = r.Context()
		if kept.Value(http.ServerContextKey) != cfg.Server || r.URL.Path != "/" || r.RemoteAddr != "192.0.2.1:5" || r.Method != "GET" {
			t.Errorf("%+v", r)
		}
		io.WriteString(w, "x")
	}), Known)
	if string(x.Body) != "x" || kept.Err() != context.Canceled {
		t.Errorf("%q, %v", x.Body, kept.Err())
	}
}

// TestGuestInforms takes back what an informational answer had under a foreign
// server and the answer has not.
func TestGuestInforms(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Outer", "1")
		g := NewGuest(w, r)
		for _, link := range []string{"</a.css>", "</b.css>"} {
			if err := g.X.Response.Set("Link", link); err != nil {
				t.Error(err)
			}
			if err := g.SendInfo(&g.X, http.StatusEarlyHints); err != nil {
				t.Error(err)
			}
			g.X.Response.Del("Link")
		}
		g.Finish()
	}))
	defer server.Close()
	var hints []string
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(_ int, h textproto.MIMEHeader) error {
		hints = append(hints, h.Get("Link")+h.Get("X-Outer"))
		return nil
	}})
	req, err := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if !slices.Equal(hints, []string{"</a.css>1", "</b.css>1"}) || resp.Header.Get("Link") != "" || resp.Header.Get("X-Outer") != "1" {
		t.Errorf("%q, %v", hints, resp.Header)
	}
}
