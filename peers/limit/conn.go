//go:build linux

package main

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// conn is the state of a connection. It has no buffers: input is counted at once, and
// output that cannot be written is mostly just a number.
//
//	answers owed to a client that reads too slowly:
//
//	  ...13\r\n\r\nHello, Wo | rld! | HTTP/1.1 200 OK ... | HTTP/1.1 ...
//	                written -| rest |-------- owed = 2 ---------------|
type conn struct {
	matched int    // bytes of a CRLFCRLF that the last read ended with
	rest    []byte // of an answer that was written in part
	owed    int    // whole answers after it
	stream  *subscriber
	listens *listener // nil: it asked for no events
}

// accept takes all connections that wait.
func (l *loop) accept() error {
	for {
		fd, _, err := unix.Accept4(l.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch err {
		case nil:
		case unix.EAGAIN:
			return nil
		case unix.EINTR, unix.ECONNABORTED:
			continue
		case unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.ENOBUFS:
			// The listener stays readable: look away until the next second.
			l.accepting = false
			return l.watch(unix.EPOLL_CTL_DEL, l.listener, 0)
		default:
			return os.NewSyscallError("accept4", err)
		}
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
			unix.Close(fd) // the client is gone already
			continue
		}
		for fd >= len(l.conns) {
			l.conns = append(l.conns, make([]*conn, 1024)...)
		}
		l.conns[fd] = &conn{}
		if err := l.watch(unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN); err != nil {
			return err
		}
	}
}

// serve handles the events of one connection. Hang-ups and errors are ignored: the next
// read or write detects them.
func (l *loop) serve(fd int, events uint32) error {
	c := l.conns[fd]
	if c == nil {
		return nil // a walk to subscribers dropped it in this round
	}
	if c.owed > 0 || len(c.rest) > 0 {
		return l.resume(fd, c)
	}
	n, errno := recv(fd, l.in)
	if errno == unix.EAGAIN || errno == unix.EINTR {
		return nil
	}
	if errno != 0 || n == 0 {
		return l.drop(fd)
	}
	heads, matched := countHeads(l.in[:n], c.matched)
	c.matched = matched
	if heads == 0 || c.stream != nil || c.listens != nil {
		return nil
	}
	if pushes, err := l.push(fd, c, l.in[:n]); pushes || err != nil {
		return err
	}
	if streams, err := l.subscribe(fd, c, l.in[:n]); streams || err != nil {
		return err
	}
	text := l.answers.take(heads)
	sent, errno := send(fd, text)
	if sent == len(text) {
		return nil
	}
	if errno != 0 && errno != unix.EAGAIN && errno != unix.EINTR {
		return l.drop(fd)
	}
	c.owe(text[sent:], l.answers.size)
	return l.watch(unix.EPOLL_CTL_MOD, fd, unix.EPOLLOUT)
}

// owe records output that could not be written: text is the end of a run of answers.
func (c *conn) owe(text []byte, size int) {
	c.owed = len(text) / size
	c.rest = append(c.rest[:0], text[:len(text)%size]...)
}

// resume writes what is owed. Until that is done nothing is read from the client.
func (l *loop) resume(fd int, c *conn) error {
	for len(c.rest) > 0 || c.owed > 0 {
		text := c.rest
		if len(text) == 0 {
			text = l.answers.take(c.owed)
		}
		n, errno := send(fd, text)
		switch {
		case errno == unix.EAGAIN || errno == unix.EINTR:
			return nil
		case errno != 0:
			return l.drop(fd)
		case len(c.rest) > 0:
			c.rest = c.rest[:copy(c.rest, c.rest[n:])]
		default:
			c.owe(text[n:], l.answers.size)
		}
	}
	c.rest = nil
	return l.watch(unix.EPOLL_CTL_MOD, fd, unix.EPOLLIN)
}

// drop closes a connection, which also removes it from the epoll set. It may still have an event in
// this round, which finds none, or a new connection of the same number, which is read once in vain.
func (l *loop) drop(fd int) error {
	if s := l.conns[fd].stream; s != nil {
		s.gone = true
	}
	if s := l.conns[fd].listens; s != nil {
		s.gone = true
	}
	l.conns[fd] = nil
	return os.NewSyscallError("close", unix.Close(fd))
}

// recv and send bypass the Go scheduler, because their sockets never block. send raises no
// SIGPIPE. Both return 0 with an error.
func recv(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

func send(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_NOSIGNAL, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}
