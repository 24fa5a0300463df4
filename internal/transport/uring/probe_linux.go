package uring

import (
	"errors"
	"fmt"
	"sync"
	"syscall"

	"github.com/redline-go/redline/internal/sys"
)

// A Kind is the reason why io_uring cannot be used.
type Kind uint8

// The kinds of [Error].
const (
	// Forbidden: seccomp, as in most containers, or kernel.io_uring_disabled.
	Forbidden Kind = iota + 1
	// Unsupported: the kernel is older than 6.0, or built without it.
	Unsupported
	// Memory: RLIMIT_MEMLOCK, or no memory is left.
	Memory
	// Other is any other reason.
	Other
)

// String describes the kind.
func (k Kind) String() string {
	return [...]string{
		Forbidden:   "io_uring is forbidden here",
		Unsupported: "the kernel lacks something of io_uring",
		Memory:      "there is no memory for io_uring",
		Other:       "io_uring does not work",
	}[k]
}

// An Error reports why io_uring cannot be used.
type Error struct {
	Kind Kind
	Err  error
}

// Error implements error.
func (e *Error) Error() string { return e.Kind.String() + ": " + e.Err.Error() }

// Unwrap returns the kernel's error.
func (e *Error) Unwrap() error { return e.Err }

// reason finds the kind of an error.
func reason(err error) error {
	kind := Other
	var errno syscall.Errno
	if errors.As(err, &errno) {
		switch errno {
		case syscall.EPERM, syscall.EACCES:
			kind = Forbidden
		case syscall.ENOSYS, syscall.EINVAL, syscall.EOPNOTSUPP:
			kind = Unsupported
		case syscall.ENOMEM, syscall.EAGAIN, syscall.EMFILE, syscall.ENFILE:
			kind = Memory
		}
	}
	return &Error{Kind: kind, Err: err}
}

// Probe reports whether this transport works here: it returns nil or an [Error]. It sets up
// a small ring with the same flags that loops use, and receives through it.
func Probe() error {
	ring, err := sys.NewRing(8, 16, ringFlags)
	if err != nil {
		return reason(err)
	}
	defer ring.Close()
	missing, err := ring.Supports(sys.OpAccept, sys.OpRecv, sys.OpSend, sys.OpPollAdd, sys.OpCancel)
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("probe operations %d: %w", missing, syscall.EOPNOTSUPP)
	}
	if err != nil {
		return reason(err)
	}
	buffers, err := ring.NewBuffers(bufferGroup, 8, 64)
	if err != nil {
		return reason(err)
	}
	// The ring refers to the buffers until it is closed, and requests in flight end after
	// that: in unexpected cases the few pages stay mapped.
	if err := receiveOnce(ring, buffers, 0); err != nil {
		return reason(err)
	}
	buffers.Close()
	return nil
}

// limits reports whether the kernel can be told how much a multishot recv takes.
var limits = sync.OnceValue(func() bool {
	ring, err := sys.NewRing(8, 16, ringFlags)
	if err != nil {
		return false
	}
	defer ring.Close()
	buffers, err := ring.NewBuffers(bufferGroup, 8, 64)
	if err != nil {
		return false
	}
	if err := receiveOnce(ring, buffers, earlyMost); err != nil {
		return false // the pages stay, as those of Probe
	}
	buffers.Close()
	return true
})

// receiveOnce receives one byte, and the end, by a multishot recv: no flag says
// whether the kernel knows it, and its limit.
func receiveOnce(ring *sys.Ring, buffers *sys.Buffers, limit uint32) error {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("probe recv: %w", err)
	}
	defer sys.Close(pair[0])
	_, errno := sys.Send(pair[1], []byte{42}, false)
	sys.Close(pair[1])
	if errno != 0 {
		return fmt.Errorf("probe recv: %w", errno)
	}
	buffers.Open(1)
	ring.Push(&sys.SQE{Op: sys.OpRecv, FD: int32(pair[0]), Flags: sys.SQESelectBuffer, Ioprio: sys.RecvMultishot, Limit: limit, Group: bufferGroup})
	if errno := ring.Enter(); errno != 0 {
		return fmt.Errorf("probe recv: %w", errno)
	}
	e, ok := ring.Pop()
	switch {
	case !ok:
		return errors.New("probe recv: no completion")
	case e.Res < 0:
		return fmt.Errorf("probe recv: %w", syscall.Errno(-e.Res))
	case e.Res != 1 || e.Flags&(sys.CQEBuffer|sys.CQEMore) != sys.CQEBuffer|sys.CQEMore || buffers.Bytes(uint16(e.Flags>>16), 1)[0] != 42:
		return fmt.Errorf("probe recv: result %d, flags %#x: %w", e.Res, e.Flags, syscall.EOPNOTSUPP)
	}
	return nil
}
