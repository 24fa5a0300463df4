package std

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// A dawdling connection takes its time to return from a Write that has been ended, and
// still looks at what it was given then.
type dawdling struct {
	over
	once    sync.Once
	begun   chan struct{}
	changed chan bool // by others, while it was written
}

func (d *dawdling) Write(p []byte) (int, error) {
	d.once.Do(func() { close(d.begun) })
	before := bytes.Clone(p)
	var err error
	for err == nil { // until the client's system takes no more, and the connection is closed
		_, err = d.over.Write(before)
	}
	time.Sleep(50 * time.Millisecond)
	d.changed <- !bytes.Equal(p, before)
	return 0, err
}

// flushes is a session that answers with memory of its own, which it uses again when
// Flush has returned.
type flushes struct {
	echo
	c    transport.Conn
	done chan error
}

func (f *flushes) Feed(in []byte, out *buf.Queue) (int, error) {
	p := bytes.Repeat([]byte("x"), 64<<10)
	out.Ref(p)
	err := f.c.Flush(out, 0, nil)
	clear(p)
	f.done <- err
	return len(in), nil
}

// TestFlushEndsWithWriter closes connections while Flush waits: when it returns, nobody
// writes from the memory that it was given.
func TestFlushEndsWithWriter(t *testing.T) {
	for name, end := range map[string]func(tr *Transport, c transport.Conn){
		"reset":     func(_ *Transport, c transport.Conn) { c.Close(transport.Reset) },
		"abrupt":    func(_ *Transport, c transport.Conn) { c.Close(transport.Abrupt) },
		"transport": func(tr *Transport, _ transport.Conn) { tr.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			begun, changed := make(chan struct{}), make(chan bool, 1)
			l := listenForeign(t, func(nc net.Conn) net.Conn {
				return &dawdling{over: over{nc}, begun: begun, changed: changed}
			})
			done, closed := make(chan error, 1), make(chan error, 1)
			conns := make(chan transport.Conn, 1)
			tr, _ := serve(t, l, transport.Config{NewSession: func(c transport.Conn) transport.Session {
				conns <- c
				return &flushes{echo{closed}, c, done}
			}})
			dial(t, l, "go")
			<-begun
			end(tr, <-conns)
			if err := await(t, done, "Flush returns"); err != transport.ErrLost {
				t.Errorf("Flush returns %v", err)
			}
			if <-changed {
				t.Error("the connection writes from memory that Flush has given back")
			}
		})
	}
}

// A patient connection returns from a Write when it may.
type patient struct {
	over
	written chan struct{}
	may     chan struct{}
}

func (p *patient) Write(b []byte) (int, error) {
	n, err := p.over.Write(b)
	close(p.written)
	<-p.may
	return n, err
}

// shared is a session that answers with a lock that it shares with others.
type shared struct {
	echo
	c    transport.Conn
	mu   *sync.Mutex
	done chan error
}

func (s *shared) Feed(in []byte, out *buf.Queue) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Ref([]byte("all of it"))
	s.done <- s.c.Flush(out, 0, s.mu)
	return len(in), nil
}

// TestFlushBeforeEnd ends a connection when the kernel has all that was written, before
// Flush, which waits for that, runs again: nothing was lost, whether the writer knows it
// already or not.
func TestFlushBeforeEnd(t *testing.T) {
	for _, how := range []transport.Closing{transport.Reset, transport.Abrupt} {
		for _, known := range []bool{true, false} {
			written, may := make(chan struct{}), make(chan struct{})
			l := listenForeign(t, func(nc net.Conn) net.Conn {
				return &patient{over{nc}, written, may}
			})
			var mu sync.Mutex
			done, closed := make(chan error, 1), make(chan error, 1)
			conns := make(chan transport.Conn, 1)
			serve(t, l, transport.Config{NewSession: func(c transport.Conn) transport.Session {
				conns <- c
				return &shared{echo{closed}, c, &mu, done}
			}})
			dial(t, l, "go")
			<-written
			c := <-conns
			mu.Lock() // Flush waits, for the writer and then for this
			if known {
				close(may)
				for c.Pending() > 0 {
					time.Sleep(time.Millisecond)
				}
			}
			c.Close(how)
			mu.Unlock()
			if !known {
				close(may)
			}
			if err := await(t, done, "Flush returns"); err != nil {
				t.Errorf("closing %v, known %v: Flush returns %v", how, known, err)
			}
		}
	}
}
