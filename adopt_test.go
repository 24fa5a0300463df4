package redline_test

import (
	"errors"
	"net"
	"testing"

	"github.com/redline-go/redline"
)

// TestAdopt serves on several listeners, also those who connect before Run. What
// cannot be served is known before Run.
func TestAdopt(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		var all [2]net.Listener
		for i := range all {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			all[i] = l
		}
		r := prepare(t, &redline.Server{Transport: transport, Native: text("adopted")})
		if transport != redline.TransportStd { // which takes any
			if err := r.Adopt(struct{ net.Listener }{all[0]}); err == nil {
				t.Error("a listener with its own Accept is adopted")
			}
		}
		var early []*client
		for _, l := range all {
			noError(t, r.Adopt(l))
			r.addr = l.Addr()
			early = append(early, r.dial())
		}
		r.run(r.Run)
		for i, l := range all {
			early[i].want("/", "adopted")
			r.addr = l.Addr()
			r.dial().want("/", "adopted")
		}
		noError(t, r.Close())
		for _, l := range all {
			if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("the listener is not closed: %v", err)
			}
		}
		if err := r.Adopt(all[0]); !errors.Is(err, redline.ErrServerClosed) {
			t.Errorf("Adopt after Close: %v", err)
		}
	}, overTLS)
}
