package redline_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// TestCloseOverTLS closes a server whose connections are in every state that TLS adds or
// changes: all of them are cut.
func TestCloseOverTLS(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		called, held, release := make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{})
		config := serverTLS()
		config.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			if h.ServerName == "held" {
				held <- struct{}{}
				<-release
			}
			return nil, nil
		}
		r := prepare(t, &redline.Server{Transport: transport, TLSConfig: config, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/wait" {
				called <- struct{}{}
				<-r.Context().Done()
				return
			}
			for chunk := make([]byte, 64<<10); ; { // until nobody can read it
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		})})
		var err error
		r.addr, err = r.ListenTLS("127.0.0.1:0", "", "")
		noError(t, err)
		r.run(r.Run)
		var all []net.Conn
		for _, sent := range []string{"", "\x16", "\x16\x03\x01\x00\x40\x01"} {
			c := r.dial()
			c.send("%s", sent)
			all = append(all, c)
		}
		for _, path := range []string{"", "/wait", "/stream"} {
			c, err := handshake(r.dial())
			noError(t, err)
			if path != "" {
				_, err = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path)
				noError(t, err)
			}
			all = append(all, c)
		}
		within := tls.Client(r.dial(), &tls.Config{InsecureSkipVerify: true, ServerName: "held"})
		ended := make(chan error, 1)
		go func() { ended <- within.Handshake() }()
		receive(t, held, "a handshake is held")
		receive(t, called, "the handler is called")
		_, err = io.ReadFull(all[len(all)-1], make([]byte, 1<<20))
		noError(t, err)
		closed := make(chan error, 1)
		go func() { closed <- r.Close() }()
		receive(t, r.Stopping(), "the server stops")
		close(release)
		noError(t, receive(t, closed, "Close returns"))
		for _, c := range append(all, within) {
			noError(t, c.SetReadDeadline(time.Now().Add(patience)))
			if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("a connection is not cut")
			}
			c.Close()
		}
		receive(t, ended, "the client's handshake ends")
	}, overTLS)
}

// TestSlowReaderOverTLS has clients that read 50 MB slowly: the handler is held back, and each
// byte arrives.
func TestSlowReaderOverTLS(t *testing.T) {
	const size, chunk, most = 50 << 20, 64 << 10, 24 << 20 // what buffers of the kernel hold, and more
	onEach(t, func(t *testing.T, transport redline.Transport) {
		var written atomic.Int64
		r := prepare(t, &redline.Server{Transport: transport, TLSConfig: serverTLS(), Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			b := make([]byte, chunk)
			for i := range size / chunk {
				b[0], b[chunk-1] = byte(i), byte(i>>8)
				if _, err := w.Write(b); err != nil {
					t.Errorf("chunk %d: %v", i, err)
					return
				}
				written.Add(chunk)
			}
		})})
		var err error
		r.addr, err = r.ListenTLS("127.0.0.1:0", "", "")
		noError(t, err)
		r.run(r.Run)
		pool := &http.Transport{TLSClientConfig: clientTLS(), DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err == nil {
				err = c.(*net.TCPConn).SetReadBuffer(1 << 20) // the kernel would choose up to 32 MiB
			}
			return c, err
		}}
		defer pool.CloseIdleConnections()
		answer, err := (&http.Client{Transport: pool, Timeout: patience}).Get("https://" + r.addr.String())
		noError(t, err)
		defer answer.Body.Close()
		b := make([]byte, chunk)
		for i := range size / chunk {
			if i%100 == 0 {
				time.Sleep(5 * time.Millisecond)
			}
			if ahead := written.Load() - int64(i*chunk); ahead > most {
				t.Fatalf("the handler is %d bytes ahead of the client", ahead)
			}
			if _, err := io.ReadFull(answer.Body, b); err != nil || b[0] != byte(i) || b[chunk-1] != byte(i>>8) {
				t.Fatalf("chunk %d: %d %d, %v", i, b[0], b[chunk-1], err)
			}
		}
		if n, err := answer.Body.Read(b); n > 0 || err != io.EOF {
			t.Errorf("%d bytes behind the end, %v", n, err)
		}
	}, overTLS)
}
