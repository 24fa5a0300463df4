//lint:file-ignore SA1019 the transport of net/http refuses the field :protocol, which opens a WebSocket.

package pushws_test

import (
	"context"
	"crypto/sha1"
	"crypto/tls"
	"encoding/base64"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/contrib/pushws"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
	"golang.org/x/net/http2"
)

// overHTTP2 are the addresses of servers whose WebSockets are opened over HTTP/2.
var overHTTP2 sync.Map

// serveHTTP2 serves HTTP/1.1 and HTTP/2 in clear, with extended CONNECT.
func serveHTTP2(t testing.TB, h http.Handler) string {
	t.Helper()
	s := &redline.Server{Handler: h, Logger: slog.New(slog.DiscardHandler), Protocols: new(http.Protocols), ExtendedConnect: true}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := "http://" + addr.String()
	overHTTP2.Store(at, true)
	done := make(chan error, 1)
	go func() { done <- s.Run() }()
	t.Cleanup(func() {
		overHTTP2.Delete(at) // another server may get the address
		ctx, cancel := context.WithTimeout(context.Background(), pushtest.Patience)
		defer cancel()
		_ = s.Shutdown(ctx)
		<-done
	})
	return at
}

// transport is for the client of one WebSocket.
func transport(t *testing.T, at string) http.RoundTripper {
	if _, ok := overHTTP2.Load(at); !ok {
		tr := new(http.Transport)
		t.Cleanup(tr.CloseIdleConnections)
		return tr
	}
	tr := &http2.Transport{AllowHTTP: true, DialTLSContext: func(ctx context.Context, network, addr string, _ *tls.Config) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}
	t.Cleanup(tr.CloseIdleConnections)
	return extended{tr}
}

// An extended transport opens WebSockets by extended CONNECT, and shows the library the request and the
// response that it knows from HTTP/1.1.
type extended struct{ tr *http2.Transport }

func (e extended) RoundTrip(r *http.Request) (*http.Response, error) {
	in, out := io.Pipe()
	key := r.Header.Get("Sec-Websocket-Key")
	r = r.Clone(context.WithoutCancel(r.Context())) // the library cancels the handshake's when it is over
	r.Method, r.Body = http.MethodConnect, in
	for _, name := range []string{"Connection", "Upgrade", "Sec-Websocket-Key"} {
		r.Header.Del(name)
	}
	r.Header.Set(":protocol", "websocket")
	resp, err := e.tr.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	resp.StatusCode = http.StatusSwitchingProtocols
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	resp.Header.Set("Connection", "Upgrade")
	resp.Header.Set("Upgrade", "websocket")
	resp.Header.Set("Sec-Websocket-Accept", base64.StdEncoding.EncodeToString(sum[:]))
	resp.Body = streamOf{resp.Body, out}
	return resp, nil
}

// streamOf is the stream of an extended transport.
type streamOf struct {
	io.ReadCloser
	out *io.PipeWriter
}

func (s streamOf) Write(p []byte) (int, error) { return s.out.Write(p) }

func (s streamOf) Close() error {
	_ = s.out.Close() // it has no error
	return s.ReadCloser.Close()
}

// TestExtendedConnect refuses over HTTP/2 what it refuses over HTTP/1.1, and requests for another
// protocol.
func TestExtendedConnect(t *testing.T) {
	hub := pushtest.Hub(t, push.Options{})
	at := serveHTTP2(t, pushws.Handler(hub.Handler(nil)))
	for _, c := range []struct {
		name, protocol, version, query string
		want                           int
	}{
		{"another protocol", "connect-udp", "13", "?topic=a", 405},
		{"another version", "websocket", "12", "?topic=a", 400},
		{"no topic", "websocket", "13", "", 400},
		{"another format", "websocket", "13", "?topic=a&format=sse", 406},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodConnect, at+"/"+c.query, strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{":protocol": {c.protocol}, "Sec-Websocket-Version": {c.version}}
		resp, err := transport(t, at).(extended).tr.RoundTrip(r)
		if err != nil {
			t.Fatal(c.name, err)
		}
		if resp.StatusCode != c.want {
			t.Errorf("%s: %d, want %d", c.name, resp.StatusCode, c.want)
		}
		_ = resp.Body.Close()
	}
	gone(t, hub, 0)
}
