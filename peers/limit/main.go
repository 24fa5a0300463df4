//go:build linux

// Command limit is the practical floor: the cheapest responder that still uses the kernel's
// TCP stack. It parses nothing. It counts the ends of request heads and answers each with a
// constant response, from one thread, with epoll. A server's cost above this floor is its
// own.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/peers/internal/subject"
)

func main() { subject.Main("limit", "", serve) }

func serve(ctx context.Context, ln net.Listener) error {
	if secure, err := subject.TLSConfig(); secure != nil || err != nil {
		return errors.Join(err, errors.New("--cert: limit parses nothing, and does not speak TLS; leave out --cert and --key"))
	}
	l, err := newLoop(ln)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- l.run() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		if err := l.stop(); err != nil {
			return err // the loop's descriptors end with the process
		}
		err = <-ended
	}
	return errors.Join(err, l.close())
}

// duplicate takes the listening socket out of the Go runtime's poller: the loop has its own
// poller.
func duplicate(ln net.Listener) (int, error) {
	tcp, ok := ln.(*net.TCPListener)
	if !ok {
		return -1, fmt.Errorf("listener is a %T, not TCP", ln)
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("reach listener: %w", err)
	}
	fd, failed := -1, error(nil)
	err = raw.Control(func(old uintptr) {
		fd, failed = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err := errors.Join(err, failed); err != nil {
		return -1, fmt.Errorf("duplicate listener: %w", err)
	}
	if err := ln.Close(); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("close first listener: %w", err)
	}
	return fd, nil
}
