package pushws_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/redline-go/redline/contrib/pushws"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
)

func TestFormats(t *testing.T) {
	each(t, func(t *testing.T, serve pushtest.Serve) {
		hub := pushtest.Hub(t, push.Options{})
		at := serve(t, pushws.Handler(hub.Handler(nil)))
		text, binary := open(t, at, "?topic=a/*"), open(t, at, "?topic=a/1&format=protobuf")
		for i, data := range []string{`{"n":1}`, "two\nlines", "", strings.Repeat("x", 70_000)} {
			e := push.Event{Topic: "a/1", ID: fmt.Sprint("id", i), Type: "kind", Data: []byte(data)}
			if _, err := hub.Publish(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			for _, c := range []*client{text, binary} {
				if m := c.want(data); m.ID != e.ID || m.Type != "kind" || m.Topic != "a/1" {
					t.Errorf("%s: got %+v", c.format, m)
				}
			}
		}
	})
}

func TestResume(t *testing.T) {
	each(t, func(t *testing.T, serve pushtest.Serve) {
		hub := pushtest.Hub(t, push.Options{History: push.History{Events: 3}})
		at := serve(t, pushws.Handler(hub.Handler(nil)))
		var ids []string
		for i := range 6 {
			ids = append(ids, pushtest.Publish(t, hub, "t", fmt.Sprint(i)).ID)
		}
		open(t, at, "?topic=t&last_event_id="+ids[3]).want("4", "5")
		for _, format := range []string{"ndjson", "protobuf"} {
			c := open(t, at, "?topic=t&format="+format+"&last_event_id="+ids[0])
			if g := c.next().Gap; g == nil || g.From != ids[0] || g.To != ids[3] || g.Reason != "history" {
				t.Errorf("%s: got %+v, want a gap to %s", format, g, ids[3])
			}
			c.want("3", "4", "5")
		}
	})
}

// TestResumeFromStart wants a client that breaks before its first event to resume from where
// it began.
func TestResumeFromStart(t *testing.T) {
	each(t, func(t *testing.T, serve pushtest.Serve) {
		hub := pushtest.Hub(t, push.Options{})
		at := serve(t, pushws.Handler(hub.Handler(nil)))
		for _, format := range []string{"ndjson", "protobuf"} {
			c, _, err := dial(t, at, "?topic=t&format="+format, nil)
			if err != nil {
				t.Fatal(err)
			}
			start := c.next().ID
			_ = c.conn.CloseNow()
			pushtest.Publish(t, hub, "t", "missed")
			open(t, at, "?topic=t&format="+format+"&last_event_id="+start).want("missed")
		}
	})
}

// TestSlow wants a client that does not read to learn of each event that it misses.
func TestSlow(t *testing.T) {
	each(t, func(t *testing.T, serve pushtest.Serve) {
		hub := pushtest.Hub(t, push.Options{QueueEvents: 4})
		c := open(t, serve(t, pushws.Handler(hub.Handler(nil))), "?topic=t")
		n := flood(t, hub, func(st push.Stats) bool { return st.Dropped >= 10 })
		for seen, missed := 0, 0; seen+missed < n; {
			m := c.next()
			if m.Gap == nil {
				seen++
			} else if missed += m.Gap.Dropped; m.Gap.Reason != "slow" || m.Gap.Dropped == 0 {
				t.Fatalf("got %+v", m.Gap)
			}
		}
		pushtest.Publish(t, hub, "t", "end")
		c.want("end")
	})
}

func flood(t *testing.T, hub *push.Hub, enough func(push.Stats) bool) (n int) {
	data := strings.Repeat("x", 64<<10)
	pushtest.Until(t, "the queue is full", func() bool {
		if enough(hub.Stats()) {
			return true
		}
		pushtest.Publish(t, hub, "t", data)
		n++
		return false
	})
	return n
}

// TestDisconnect wants a client that is too slow for its topic's policy to be closed with the
// code for "try again later", or cut if it does not even take that.
func TestDisconnect(t *testing.T) {
	each(t, func(t *testing.T, serve pushtest.Serve) {
		hub := pushtest.Hub(t, push.Options{QueueEvents: 4, Policy: push.Disconnect})
		c := open(t, serve(t, pushws.Handler(hub.Handler(nil))), "?topic=t")
		flood(t, hub, func(st push.Stats) bool { return st.Endings["slow"] > 0 })
		for {
			m, err := c.read()
			if err != nil {
				t.Fatalf("the connection ended without a bye: %v", err)
			}
			if m.Bye != nil {
				if m.Bye.Reason != "slow" {
					t.Errorf("got %+v", m.Bye)
				}
				break
			}
		}
		c.closed(websocket.StatusTryAgainLater)
		gone(t, hub, 0)
	})
}

func TestShutdown(t *testing.T) {
	each(t, func(t *testing.T, serve pushtest.Serve) {
		hub := pushtest.Hub(t, push.Options{Spread: -1})
		at := serve(t, pushws.Handler(hub.Handler(nil)))
		var all []*client
		for _, format := range []string{"ndjson", "protobuf"} {
			all = append(all, open(t, at, "?topic=t&format="+format))
		}
		pushtest.Publish(t, hub, "t", "owed")
		ctx, cancel := context.WithTimeout(t.Context(), pushtest.Patience)
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- hub.Shutdown(ctx) }()
		for _, c := range all {
			c.want("owed")
			if m := c.next(); m.Bye == nil || m.Bye.Reason != "shutdown" {
				t.Errorf("%s: got %+v", c.format, m)
			}
			c.closed(websocket.StatusGoingAway)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if _, resp, err := dial(t, at, "?topic=t", nil); err == nil || resp == nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
			t.Errorf("after Shutdown: %v %v", resp, err)
		}
	})
}

func TestClose(t *testing.T) {
	each(t, func(t *testing.T, serve pushtest.Serve) {
		hub := pushtest.Hub(t, push.Options{})
		c := open(t, serve(t, pushws.Handler(hub.Handler(nil))), "?topic=t")
		_ = hub.Close()
		if m, err := c.read(); err == nil {
			t.Errorf("got %+v", m)
		}
		gone(t, hub, 0)
	})
}

// TestHeartbeat wants pings, and a client that does not answer them to be cut.
func TestHeartbeat(t *testing.T) {
	each(t, func(t *testing.T, serve pushtest.Serve) {
		hub := pushtest.Hub(t, push.Options{Heartbeat: 50 * time.Millisecond, WriteTimeout: 10 * time.Second})
		at := serve(t, pushws.Handler(hub.Handler(nil)))
		c := open(t, at, "?topic=t")
		go func() { _, _ = c.read() }() // pings are answered while reading
		for range 3 {
			select {
			case <-c.pings:
			case <-c.ctx.Done():
				t.Fatal("no ping")
			}
		}
		deaf := pushtest.Hub(t, push.Options{Heartbeat: 50 * time.Millisecond, WriteTimeout: 200 * time.Millisecond})
		handshake(t, serve(t, pushws.Handler(deaf.Handler(nil))), "?topic=t")
		pushtest.Until(t, "it has joined", func() bool { return deaf.Stats().Heartbeats > 0 })
		gone(t, deaf, 0)
		if n := hub.Stats().Subscribers; n != 1 {
			t.Errorf("the client that answers: %d subscribers", n)
		}
	})
}

// handshake opens a WebSocket that answers nothing.
func handshake(t *testing.T, at, query string) net.Conn {
	t.Helper()
	host := strings.TrimPrefix(at, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "GET /%s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", query, host)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestClientSends wants a client that sends anything to be closed, however much it is.
func TestClientSends(t *testing.T) {
	each(t, func(t *testing.T, serve pushtest.Serve) {
		hub := pushtest.Hub(t, push.Options{})
		at := serve(t, pushws.Handler(hub.Handler(nil)))
		for _, size := range []int{0, 5, 100_000} {
			c := open(t, at, "?topic=t")
			if err := c.conn.Write(c.ctx, websocket.MessageText, make([]byte, size)); err != nil && size < 100 {
				t.Fatal(err)
			}
			c.closed(websocket.StatusPolicyViolation, websocket.StatusMessageTooBig)
			gone(t, hub, 0)
		}
		raw := handshake(t, at, "?topic=t")
		pushtest.Until(t, "it has joined", func() bool { return hub.Stats().Subscribers == 1 })
		_, _ = raw.Write(bytes.Repeat([]byte{0xff}, 14)) // reserved bits, no known opcode
		gone(t, hub, 0)
	})
}

func TestLeave(t *testing.T) {
	each(t, func(t *testing.T, serve pushtest.Serve) {
		hub := pushtest.Hub(t, push.Options{})
		at := serve(t, pushws.Handler(hub.Handler(nil)))
		stays := open(t, at, "?topic=t")
		for i := range 20 {
			c := open(t, at, "?topic=t")
			switch i % 3 {
			case 0:
				_ = c.conn.CloseNow()
			case 1:
				_ = c.conn.Close(websocket.StatusNormalClosure, "enough")
			default:
				raw := handshake(t, at, "?topic=t")
				_ = raw.(*net.TCPConn).SetLinger(0)
				_ = raw.Close()
				_ = c.conn.CloseNow()
			}
		}
		gone(t, hub, 1)
		pushtest.Publish(t, hub, "t", "x")
		stays.want("x")
	})
}

// TestToken wants the token among the subprotocols to be that of the request, and to be told to nobody.
func TestToken(t *testing.T) {
	each(t, func(t *testing.T, serve pushtest.Serve) {
		hub := pushtest.Hub(t, push.Options{})
		at := serve(t, pushws.Handler(hub.Handler(func(r *http.Request) ([]string, error) {
			if strings.Contains(r.Header.Get("Sec-Websocket-Protocol"), "good") {
				t.Error("the token is still among the subprotocols")
			}
			if len(r.Header.Values("Authorization")) != 1 || r.Header.Get("Authorization") != "Bearer good.token-_~" {
				return nil, push.ErrUnauthorized
			}
			return []string{"a"}, nil
		})))
		const good = "bearer.good.token-_~"
		for _, c := range []struct {
			offered, header, spoken string
			want                    int
		}{
			{"redline.push, " + good, "", "redline.push", 101},
			{good + ",redline.push", "", "redline.push", 101},
			{good, "", "", 101},
			{"redline.push", "Bearer good.token-_~", "redline.push", 101},
			{"bearer.bad", "Bearer good.token-_~", "", 101}, // the header counts
			{good, "Bearer bad", "", 401},
			{good + ", bearer.bad", "", "", 401},
			{"bearer.bad, " + good, "", "", 401},
			{"bearer.", "", "", 401},
			{"redline.push", "", "", 401},
			{"Bearer.x", "", "", 401},
		} {
			header := http.Header{"Sec-Websocket-Protocol": {c.offered}}
			if c.header != "" {
				header.Set("Authorization", c.header)
			}
			_, resp, err := dial(t, at, "?topic=a", header)
			// Over HTTP/2 what is 101 is 200.
			if resp == nil || resp.StatusCode != c.want && (c.want != 101 || resp.StatusCode != 200) {
				t.Errorf("%+v: got %v, %v", c, resp, err)
				continue
			}
			if got := resp.Header.Get("Sec-Websocket-Protocol"); got != c.spoken {
				t.Errorf("%+v: the subprotocol is %q", c, got)
			}
		}
	})
}

func TestRefused(t *testing.T) {
	each(t, func(t *testing.T, serve pushtest.Serve) {
		hub := pushtest.Hub(t, push.Options{MaxSubscribers: 1})
		h := hub.Handler(func(r *http.Request) ([]string, error) {
			switch r.Header.Get("Authorization") {
			case "":
				return nil, push.ErrUnauthorized
			case "bad":
				return nil, errors.New("a secret reason")
			}
			return []string{"a/*"}, nil
		})
		h.Origins = []string{"https://example.com"}
		at := serve(t, pushws.Handler(h))
		for _, c := range []struct {
			query, who, origin string
			want               int
		}{
			{"?topic=a/1", "", "", 401},
			{"?topic=a/1", "bad", "", 403},
			{"?topic=b", "me", "", 403},
			{"?topic=a%0A", "me", "", 400},
			{"?topic=a/1&topic=%zz", "me", "", 400},
			{"?topic=a/1&format=sse", "me", "", 406},
			{"?topic=a/1", "me", "https://evil.example", 403},
			{"?topic=a/1", "me", "http://example.com", 403},
			{"?topic=a/1", "me", "null", 403},
			{"?topic=a/1", "me", "https://example.com", 101},
			{"?topic=a/1", "me", "", 503},
		} {
			header := http.Header{}
			if c.who != "" {
				header.Set("Authorization", c.who)
			}
			if c.origin != "" {
				header.Set("Origin", c.origin)
			}
			_, resp, err := dial(t, at, c.query, header)
			if resp == nil || resp.StatusCode != c.want {
				t.Errorf("%+v: got %v, %v", c, resp, err)
			}
			if c.want == 403 || c.want == 401 {
				gone(t, hub, 0)
			}
		}
		as := http.Header{"Authorization": {"me"}}
		gone(t, hub, 1)
		if status, _, _ := pushtest.Refused(t, "HEAD", at+"?topic=a/1", as); status != 503 { // it is counted
			t.Errorf("HEAD: %d", status)
		}
	})
	each(t, func(t *testing.T, serve pushtest.Serve) {
		hub := pushtest.Hub(t, push.Options{})
		at := serve(t, pushws.Handler(hub.Handler(nil)))
		if status, text, _ := pushtest.Refused(t, "GET", at+"?topic=a", nil); status != http.StatusUpgradeRequired || text == "" {
			t.Errorf("no upgrade: %d %q", status, text)
		}
		gone(t, hub, 0)
	})
}
