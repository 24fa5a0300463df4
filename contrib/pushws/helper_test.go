package pushws_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
)

// each runs a test on every server, and over HTTP/2.
func each(t *testing.T, run func(t *testing.T, serve pushtest.Serve)) {
	servers := maps.Clone(pushtest.Servers)
	servers["redline over HTTP/2"] = serveHTTP2
	for name, serve := range servers {
		t.Run(name, func(t *testing.T) { run(t, serve) })
	}
}

// A client is a WebSocket of a test.
type client struct {
	t      *testing.T
	conn   *websocket.Conn
	ctx    context.Context
	format string
	pings  chan struct{}
}

func dial(t *testing.T, at, query string, header http.Header) (*client, *http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), pushtest.Patience)
	t.Cleanup(cancel)
	c := &client{t: t, ctx: ctx, format: "ndjson", pings: make(chan struct{}, 100)}
	if strings.Contains(query, "format=protobuf") {
		c.format = "protobuf"
	}
	header = header.Clone()
	var spoken []string // the library accepts none that it has not offered itself
	for offered := range strings.SplitSeq(header.Get("Sec-Websocket-Protocol"), ",") {
		if offered != "" {
			spoken = append(spoken, strings.TrimSpace(offered))
		}
	}
	header.Del("Sec-Websocket-Protocol")
	conn, resp, err := websocket.Dial(ctx, at+query, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport(t, at)}, HTTPHeader: header, Subprotocols: spoken,
		OnPingReceived: func(context.Context, []byte) bool {
			c.pings <- struct{}{}
			return true
		},
	})
	if err != nil {
		return nil, resp, err
	}
	conn.SetReadLimit(1 << 20)
	t.Cleanup(func() { _ = conn.CloseNow() })
	c.conn = conn
	return c, resp, nil
}

func open(t *testing.T, at, query string) *client {
	t.Helper()
	c, _, err := dial(t, at, query, nil)
	if err != nil {
		t.Fatal(err)
	}
	if start := c.next(); start.Retry == 0 {
		t.Fatalf("the stream begins with %+v", start)
	}
	return c
}

// read returns the next message, decoded by a decoder that knows streams.
func (c *client) read() (m pushtest.Message, err error) {
	c.t.Helper()
	kind, text, err := c.conn.Read(c.ctx)
	if err != nil {
		return m, err
	}
	want := websocket.MessageText
	if c.format == "protobuf" {
		want = websocket.MessageBinary
		text = append(binary.AppendUvarint(nil, uint64(len(text))), text...)
	} else {
		text = append(text, '\n')
	}
	if kind != want {
		c.t.Fatalf("a message of type %v, want %v", kind, want)
	}
	next, err := pushtest.NewDecoder(c.format, bytes.NewReader(text))
	if err != nil {
		c.t.Fatal(err)
	}
	return next()
}

func (c *client) next() pushtest.Message {
	c.t.Helper()
	m, err := c.read()
	if err != nil {
		c.t.Fatal(err)
	}
	return m
}

func (c *client) want(data ...string) (last pushtest.Message) {
	c.t.Helper()
	for _, want := range data {
		if last = c.next(); string(last.Data) != want {
			c.t.Fatalf("got %+v (%s), want %q", last, last.Data, want)
		}
	}
	return last
}

// closed wants the connection to be closed by the server.
func (c *client) closed(want ...websocket.StatusCode) {
	c.t.Helper()
	_, err := c.read()
	for _, code := range want {
		if websocket.CloseStatus(err) == code {
			return
		}
	}
	c.t.Fatalf("got %v, want a close with %v", err, want)
}

func gone(t *testing.T, hub *push.Hub, left int) {
	t.Helper()
	pushtest.Until(t, "the clients are gone", func() bool { return hub.Stats().Subscribers == left })
}
