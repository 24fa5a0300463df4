package redline_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// TestBodyLost has clients leave within their content: when reading it fails, the request's context
// has been cancelled, as under net/http, so that a handler can tell this from content that is wrong.
func TestBodyLost(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		type outcome struct{ read, context error }
		begun, outcomes := make(chan struct{}, 1), make(chan outcome, 1)
		r := serve(t, &redline.Server{Transport: transport, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			begun <- struct{}{}
			_, err := io.Copy(io.Discard, r.Body)
			outcomes <- outcome{err, r.Context().Err()}
		})})
		for i := range 20 {
			c := r.dial()
			c.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
			receive(t, begun, "the handler runs") // a reset could take the request along
			time.Sleep(time.Millisecond)          // mostly it waits by then
			if i%2 == 0 {
				noError(t, c.tcp().SetLinger(0))
			}
			noError(t, c.tcp().Close())
			if o := receive(t, outcomes, "the handler reads"); o.read == nil || o.context == nil {
				t.Errorf("client %d: reading content fails with %v, and the context's error is %v", i, o.read, o.context)
			}
		}
	})
}
