package redline_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/redline-go/redline"
)

// TestBroadcast has a thousand clients of real connections receive what walks give to all of
// them, in order; and then the connections go on.
func TestBroadcast(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		clients, events := 1000, 30
		if transport == overTLS || testing.Short() {
			clients = 100
		}
		a := newAudience(t)
		r := serve(t, &redline.Server{Transport: transport, Loops: 2, Native: func(c *redline.Ctx) {
			if c.Path() == "/events" {
				a.join(c)
				return
			}
			c.Text(200, c.Path())
		}})
		var all []*client
		for range clients {
			c := r.dial()
			c.ask("/events")
			all = append(all, c)
		}
		until(t, "all have subscribed", func() bool { return a.count() == clients })
		var want strings.Builder
		for i := range events {
			text := fmt.Sprintf("event %d\n", i)
			want.WriteString(text)
			a.publish(text)
		}
		a.end()
		for i, c := range all {
			body, err := io.ReadAll(c.response().Body)
			if err != nil || string(body) != want.String() {
				t.Fatalf("client %d: %.100q, %v", i, body, err)
			}
			c.want("/next", "/next")
		}
		for _, p := range a.all() {
			if err := receive(t, p.gone, "Gone is called"); err != nil {
				t.Errorf("Gone(%v)", err)
			}
		}
	})
}
