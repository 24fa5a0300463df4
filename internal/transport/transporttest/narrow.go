package transporttest

import (
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// narrow makes a connection whose client offers a window of about a kilobyte.
func narrow(_, _ string, rc syscall.RawConn) (err error) {
	if e := rc.Control(func(fd uintptr) { err = setReceiveBuffer(fd, 1) }); e != nil {
		return e
	}
	return err
}

// narrowWindow has a client offer a window that makes the kernel cut all that the socket accepts
// into very small segments: the socket is not given much more than is taken, however that is sent.
func narrowWindow(e *env) {
	const most, size = 160 << 10, 8 << 20
	p := pattern(size)
	flushed := make(chan error, 1)
	e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		l, n, ok := line(in)
		if !ok {
			return 0, nil
		}
		if l == "vector" {
			fmt.Fprint(out, "head")
		}
		out.Ref(p)
		if l != "return" {
			s.SetWriteTimeout(20 * time.Millisecond)
			flushed <- s.Flush(out, 0, nil)
		}
		return n, nil
	}})
	for i, how := range []string{"flush", "vector", "return"} {
		c := e.dialWith(&net.Dialer{Control: narrow})
		c.send(how + "\n")
		s := e.session(i)
		if how != "return" {
			if err := e.receive(flushed, "Flush returns"); err != transport.ErrDeadline {
				e.Errorf("%s: Flush returns %v, want ErrDeadline", how, err)
			}
		}
		e.full(s)
		within := make(chan int, 1)
		s.Wake(func(*buf.Queue) error { within <- s.Untaken() - s.Pending(); return nil })
		if n := <-within; n > most {
			e.Errorf("%s: %d bytes wait in the kernel, want %d at most", how, n, most)
		}
		if how == "vector" {
			c.want("head")
		}
		c.want(string(p[:32<<10]))
		c.reset()
	}
}
