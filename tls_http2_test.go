package redline_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// TestHTTP2OverTLS has one connection carry many requests at a time, whose handlers are
// quick, block, or stream, with content both ways.
func TestHTTP2OverTLS(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 20<<10)
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := prepare(t, &redline.Server{Transport: transport, TLSConfig: serverTLS(), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor != 2 || r.TLS == nil {
				t.Errorf("%s, TLS %v", r.Proto, r.TLS)
			}
			if r.URL.Path == "/blocks" {
				time.Sleep(20 * time.Millisecond)
			}
			if _, err := io.Copy(w, r.Body); err != nil {
				t.Error(err)
			}
		})})
		at, err := r.ListenTLS("127.0.0.1:0", "", "")
		noError(t, err)
		r.run(r.Run)
		client := httpsClient(t, clientTLS())
		client.Transport.(*http.Transport).ForceAttemptHTTP2 = true
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				path, body := "/quick", content[:100]
				if i%2 == 1 {
					path = "/blocks"
				}
				if i%4 > 1 {
					body = content
				}
				resp, err := client.Post("https://"+at.String()+path, "text/plain", strings.NewReader(string(body)))
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				if got, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(got, body) {
					t.Errorf("%s: %d bytes, %v, want %d", path, len(got), err, len(body))
				}
			})
		}
		all.Wait()
		client.CloseIdleConnections()
	}, overTLS)
}
