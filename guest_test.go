package redline_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/redline-go/redline"
)

// A leftWriter is a ResponseWriter whose client leaves after some writes, and nobody else notices.
type leftWriter struct {
	http.ResponseWriter
	writes int
}

func (w *leftWriter) Write(p []byte) (int, error) {
	if w.writes--; w.writes < 0 {
		return 0, errors.New("broken pipe")
	}
	return w.ResponseWriter.Write(p)
}

func (w *leftWriter) Flush() {}

// TestGuestClientLeaves ends a stream under a foreign server when its client has left, also if the
// server does not cancel the request's context before the handler has returned.
func TestGuestClientLeaves(t *testing.T) {
	for name, writes := range map[string]int{"with the first part": 0, "later": 3} {
		t.Run(name, func(t *testing.T) {
			cause := make(chan error, 1)
			h := redline.HandlerFunc(func(c *redline.Ctx) {
				c.WriteString("begin")
				c.Stream(func(s *redline.Stream) {
					defer s.Close()
					for s.Context().Err() == nil {
						if _, err := s.Write([]byte("more")); err != nil {
							break
						}
						if err := s.Drain(context.Background(), 0); err != nil {
							break
						}
					}
					<-s.Context().Done() // as one does that waits for events
					cause <- context.Cause(s.Context())
				})
				if ctx := c.Context(); writes == 0 { // the stream does not begin
					go func() { <-ctx.Done(); cause <- context.Cause(ctx) }()
				}
			})
			func() {
				defer func() { _ = recover() }() // the connection is to be cut
				h.ServeHTTP(&leftWriter{httptest.NewRecorder(), writes}, httptest.NewRequest("GET", "/", nil))
			}()
			if err := receive(t, cause, "the stream ends"); !errors.Is(err, redline.ErrGone) {
				t.Errorf("cause is %v", err)
			}
		})
	}
}
