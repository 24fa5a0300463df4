package pushfasthttp

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/redline-go/redline/push"
	"github.com/valyala/fasthttp"
)

// Handler returns a handler that takes the connection of each request over and has net/http
// serve the stream on it, as if the request had come there: what the hub promises holds, at
// the price of net/http for each subscriber. The connection ends with the stream. User values
// of the RequestCtx are not passed on; what h needs has to be in the request.
func Handler(h *push.Handler) fasthttp.RequestHandler {
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Connection", "close") // what follows is not for h
			h.ServeHTTP(w, r)
		}),
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // clients that leave
	}
	return func(ctx *fasthttp.RequestCtx) {
		head := head(&ctx.Request.Header)
		ctx.HijackSetNoResponse(true)
		ctx.Hijack(func(c net.Conn) {
			conn := &conn{Conn: c, in: io.MultiReader(bytes.NewReader(head), c), closed: make(chan struct{})}
			_ = server.Serve(&listener{conn: conn, addr: c.LocalAddr()}) // returns when conn is closed
		})
	}
}

// head is the request as received, without its body, which nobody needs.
func head(from *fasthttp.RequestHeader) []byte {
	var h fasthttp.RequestHeader
	from.CopyTo(&h)
	for _, name := range []string{"Content-Length", "Transfer-Encoding", "Expect", "Trailer"} {
		h.Del(name)
	}
	return bytes.Clone(h.Header())
}

// A conn is a connection whose first bytes were read before. fasthttp gives its Conn to another
// connection when this one was closed, and a hub may cut a client that has just left: so
// deadlines are set only until then.
type conn struct {
	net.Conn
	in     io.Reader
	mu     sync.Mutex // not held while reading or writing, which Close interrupts
	ended  bool
	closed chan struct{}
}

func (c *conn) Read(p []byte) (int, error) { return c.in.Read(p) }

func (c *conn) Close() error {
	return c.live(func() error {
		c.ended = true
		defer close(c.closed)
		return c.Conn.Close()
	})
}

func (c *conn) SetDeadline(t time.Time) error {
	return c.live(func() error { return c.Conn.SetDeadline(t) })
}

func (c *conn) SetReadDeadline(t time.Time) error {
	return c.live(func() error { return c.Conn.SetReadDeadline(t) })
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	return c.live(func() error { return c.Conn.SetWriteDeadline(t) })
}

// live calls f unless the connection was closed.
func (c *conn) live(f func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return net.ErrClosed
	}
	return f()
}

// A listener accepts one connection, and ends when that has been closed.
type listener struct {
	conn     *conn
	addr     net.Addr
	accepted bool
}

func (l *listener) Accept() (net.Conn, error) {
	if l.accepted {
		<-l.conn.closed
		return nil, net.ErrClosed
	}
	l.accepted = true
	return l.conn, nil
}

func (l *listener) Close() error   { return nil }
func (l *listener) Addr() net.Addr { return l.addr }
