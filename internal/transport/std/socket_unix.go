//go:build unix

package std

import (
	"bytes"
	"io"
	"net"
	"syscall"

	"github.com/redline-go/redline/internal/buf"
)

// receive waits for bytes. It holds no buffer while it waits: most connections are idle.
func receive(nc net.Conn, raw syscall.RawConn) (p []byte, err error) {
	if raw == nil {
		return receiveAny(nc)
	}
	var cause error
	err = raw.Read(func(fd uintptr) (done bool) {
		p, cause = tryRead(int(fd))
		return cause != syscall.EAGAIN
	})
	if err == nil {
		err = cause
	}
	return p, err
}

// tryRead reads what is available. EAGAIN means that nothing is.
func tryRead(fd int) ([]byte, error) {
	b := buf.Get(readSize)
	defer buf.Put(b)
	for {
		n, err := syscall.Read(fd, b[:cap(b)])
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return nil, err
		case n == 0:
			return nil, io.EOF
		}
		return bytes.Clone(b[:n]), nil
	}
}

// send writes the beginning of p: as much as the kernel accepts at once, so that the
// accepted amount is always known, however slow the peer is.
func send(nc net.Conn, raw syscall.RawConn, p []byte) (n int, err error) {
	if raw == nil {
		return sendAny(nc, p)
	}
	p = p[:min(len(p), writeSize)]
	var cause error
	err = raw.Write(func(fd uintptr) (done bool) {
		for cause = syscall.EINTR; cause == syscall.EINTR; {
			n, cause = syscall.Write(int(fd), p)
		}
		return cause != syscall.EAGAIN
	})
	if err == nil {
		err = cause
	}
	return max(n, 0), err // it is -1 with an error
}
