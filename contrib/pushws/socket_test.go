package pushws

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/coder/websocket"
	"github.com/redline-go/redline/push/format"
	"github.com/redline-go/redline/push/pushtest"
)

// TestKeepsNothing wants a message that was sent to be garbage: the hub does not count it any
// more.
func TestKeepsNothing(t *testing.T) {
	const size = 1 << 20
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			sent, leave := make(chan weak.Pointer[byte], 1), make(chan struct{})
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				s := newSocket(w, r, p, nil)
				defer s.end()
				s.WriteHeader(http.StatusOK)
				sent <- write(t, s, p, size)
				<-leave
			}))
			t.Cleanup(s.Close)
			t.Cleanup(func() { close(leave) }) // before the server waits for its handlers
			ctx, cancel := context.WithTimeout(t.Context(), pushtest.Patience)
			defer cancel()
			c, _, err := websocket.Dial(ctx, s.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.CloseNow() }()
			c.SetReadLimit(2 * size)
			if _, b, err := c.Read(ctx); err != nil || len(b) < size {
				t.Fatalf("%d bytes, %v", len(b), err)
			}
			frame := <-sent
			pushtest.Until(t, "the message is freed", func() bool {
				runtime.GC()
				return frame.Value() == nil
			})
		})
	}
}

// write sends an event, and returns a pointer to its bytes that does not keep them.
func write(t *testing.T, s *socket, p protocol, size int) weak.Pointer[byte] {
	f := format.NDJSON
	if p.kind == websocket.MessageBinary {
		f = format.Protobuf
	}
	frame := f.AppendEvent(nil, &format.Event{Topic: "t", Data: []byte(strings.Repeat("x", size))})
	_ = s.SetWriteDeadline(time.Now().Add(pushtest.Patience))
	if _, err := s.Write(frame); err != nil {
		t.Error(err)
	}
	return weak.Make(&frame[0])
}

func TestCode(t *testing.T) {
	for _, f := range []format.Format{format.NDJSON, format.Protobuf} {
		for reason, want := range map[string]websocket.StatusCode{
			"shutdown": websocket.StatusGoingAway, "lifetime": websocket.StatusGoingAway,
			"slow": websocket.StatusTryAgainLater, "memory": websocket.StatusTryAgainLater,
			"ended": websocket.StatusGoingAway, "revoked": websocket.StatusGoingAway,
			"too slow": websocket.StatusGoingAway, `a "memory" of yours`: websocket.StatusGoingAway, // of a push.Ending
		} {
			bye := f.AppendBye(nil, &format.Bye{Reason: reason, Retry: 100 * time.Hour})
			if got := code(bye); got != want {
				t.Errorf("%s: %s has the code %v, want %v", f.Name(), reason, got, want)
			}
		}
	}
}
