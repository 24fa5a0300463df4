package tlsclient

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/h2"
)

// closed is a closed loop on one connection: requests that end are sent again.
type closed struct {
	conn    *h2.Conn
	request *h2.Request
	out     []byte // frames to encrypt
	sent    int
	total   int
	right   int
	size    [64]int
	failed  []h2.Error
}

func (c *closed) Head(slot int, h *h2.Head) {
	c.size[slot] = 0
	if h.Status != http.StatusOK {
		c.failed = append(c.failed, h2.Error{Detail: fmt.Sprint("status ", h.Status)})
	}
}
func (c *closed) Data(slot int, b []byte)  { c.size[slot] += len(b) }
func (c *closed) Fail(_ int, err h2.Error) { c.failed = append(c.failed, err) }
func (c *closed) End(slot int) {
	if c.size[slot] == len("Hello, World!") {
		c.right++
	}
	c.send()
}

func (c *closed) send() {
	for c.sent < c.total && c.conn.Room() > 0 {
		_, c.out = c.conn.AppendRequest(c.out, c.request)
		c.sent++
	}
}

// newClosed prepares a closed loop over total requests.
func newClosed(t *testing.T, total int) *closed {
	t.Helper()
	protocol, err := h2.NewClient(h2.Settings{Streams: 32})
	if err != nil {
		t.Fatal(err)
	}
	loop := &closed{total: total}
	loop.request, err = h2.NewRequest(0, []h2.Field{
		{Name: ":method", Value: []byte("GET")},
		{Name: ":scheme", Value: []byte("https")},
		{Name: ":authority", Value: []byte("example.com")},
		{Name: ":path", Value: []byte("/plaintext")},
	}, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	loop.conn = protocol.New(loop)
	return loop
}

// The packages h2 and tlsclient together are a client: 32 streams on a connection to net/http's
// server over TLS, driven like an event loop.
func TestHTTP2(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "Hello, World!")
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()

	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))

	loop := newClosed(t, 2000)
	secure, out, err := client(t, Settings{Insecure: true, ServerName: "example.com", Protocols: []string{"h2"}}).Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer secure.Close(nil)
	in, plain := make([]byte, 64<<10), make([]byte, 0, 128<<10)
	begun := false
	for loop.right+len(loop.failed) < loop.total {
		if _, err := conn.Write(out); err != nil {
			t.Fatal(err)
		}
		n, err := conn.Read(in)
		if err != nil {
			t.Fatal(err)
		}
		plain, out, err = secure.Feed(in[:n], plain[:0], out[:0])
		if err != nil {
			t.Fatal(err)
		}
		if err := loop.conn.Feed(plain); err != nil {
			t.Fatal(err)
		}
		if loop.conn.Settled() && !begun {
			begun = true
			loop.send()
		}
		if loop.conn.Pending() {
			loop.out = loop.conn.AppendPending(loop.out, 64<<10)
		}
		if secure.Ready() && len(loop.out) > 0 {
			if out, err = secure.Write(out, loop.out); err != nil {
				t.Fatal(err)
			}
			loop.out = loop.out[:0]
		}
	}
	if loop.right != loop.total {
		t.Errorf("%d of %d right, %v", loop.right, loop.total, loop.failed)
	}
	if s := secure.State(); s.Protocol != "h2" || s.Version != tls.VersionTLS13 {
		t.Errorf("state %+v", s)
	}
}
