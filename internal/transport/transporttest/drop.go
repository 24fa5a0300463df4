package transporttest

import (
	"errors"
	"net"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

func init() { cases = append(cases, testCase{"transport/listeners dropped", listenersDropped}) }

// listenersDropped drops one adopted listener after the other, the last by a session, on its
// loop. Their addresses are free at once, the others and the connections are served on, and
// Serve returns the reason with the last.
func listenersDropped(e *env) {
	var last net.Listener
	why := errors.New("dropped by its owner")
	e.create(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		if string(in) == "drop\n" {
			e.transport.Drop(last, why)
		}
		return echo(s, in, out)
	}})
	var all []net.Listener
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			e.Fatal(err)
		}
		if err := e.transport.Adopt(l, transport.ListenOptions{}); err != nil {
			e.Fatal(err)
		}
		all = append(all, l)
	}
	free := func(l net.Listener) {
		l.Close()
		again, err := net.Listen("tcp", l.Addr().String())
		if err != nil {
			e.Errorf("the address of a listener that was dropped is not free: %v", err)
			return
		}
		again.Close()
	}
	e.transport.Drop(all[0], why) // before Serve
	free(all[0])
	last = all[2]
	e.addr = last.Addr()
	e.serve()
	kept := e.dial()
	kept.send("hello\n")
	kept.want("hello\n")
	e.transport.Drop(all[1], why)
	free(all[1])
	c := e.dial()
	c.send("drop\n")
	c.want("drop\n")
	if err := e.receive(e.served, "Serve returns"); err != why {
		e.Errorf("Serve returns %v, want %v itself", err, why)
	}
	e.served = nil
	free(last)
	kept.send("on\n")
	kept.want("on\n")
	if err := e.transport.Close(); err != nil {
		e.Error(err)
	}
	kept.wantGone()
}
