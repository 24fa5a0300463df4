package transporttest

import (
	"bytes"
	"net"

	"github.com/redline-go/redline/internal/buf"
)

// below is the client's socket.
func (c *client) below() net.Conn {
	if over, ok := c.Conn.(interface{ NetConn() net.Conn }); ok {
		return over.NetConn()
	}
	return c.Conn
}

// halfClose ends what the client sends.
func (c *client) halfClose() {
	c.e.Helper()
	for _, nc := range []net.Conn{c.Conn, c.below()} {
		if err := nc.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			c.e.Error(err)
		}
		if nc == c.below() {
			break
		}
	}
}

// reset closes the connection with a reset.
func (c *client) reset() {
	c.e.Helper()
	nc := c.below()
	if err := nc.(*net.TCPConn).SetLinger(0); err != nil {
		c.e.Error(err)
	}
	nc.Close()
}

// echo consumes whole lines and sends them back.
func echo(_ *session, in []byte, out *buf.Queue) (int, error) {
	n := bytes.LastIndexByte(in, '\n') + 1
	_, err := out.Write(in[:n])
	return n, err
}

// line cuts the first line off, without its end.
func line(in []byte) (l string, n int, ok bool) {
	i := bytes.IndexByte(in, '\n')
	if i < 0 {
		return "", 0, false
	}
	return string(in[:i]), i + 1, true
}
