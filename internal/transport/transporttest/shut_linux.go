package transporttest

import (
	"errors"
	"net"
	"syscall"

	"github.com/redline-go/redline/internal/transport"
)

func init() { cases = append(cases, testCase{"transport/listener shut down", listenerShut}) }

// listenerShut has another owner of the listening socket shut it down: Serve returns
// why nothing is accepted any more, and connections are served on.
func listenerShut(e *env) {
	e.create(hooks{feed: echo})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		e.Fatal(err)
	}
	defer l.Close()
	if err := e.transport.Adopt(l, transport.ListenOptions{}); err != nil {
		e.Fatal(err)
	}
	e.addr = l.Addr()
	e.serve()
	c := e.dial()
	c.send("hello\n")
	c.want("hello\n")
	rc, err := l.(syscall.Conn).SyscallConn()
	if err != nil {
		e.Fatal(err)
	}
	if e2 := rc.Control(func(fd uintptr) { err = syscall.Shutdown(int(fd), syscall.SHUT_RDWR) }); e2 != nil || err != nil {
		e.Fatal(e2, err)
	}
	if err := e.receive(e.served, "Serve returns"); err == nil || errors.Is(err, transport.ErrStopped) {
		e.Errorf("Serve returns %v, want why nothing is accepted", err)
	}
	e.served = nil
	c.send("again\n")
	c.want("again\n")
	if err := e.transport.Close(); err != nil {
		e.Error(err)
	}
	c.wantGone()
}
