//go:build unix

package transporttest

import (
	"os"
	"syscall"
)

// setReceiveBuffer sets the size of a socket's receive buffer.
func setReceiveBuffer(fd uintptr, n int) error {
	return syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, n)
}

// withoutDescriptors runs f while the process can open no descriptor.
func withoutDescriptors(f func()) (err error) {
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		return err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	none := was
	none.Cur = limit(none.Cur, null.Fd()) // the lowest that is free
	if err := null.Close(); err != nil {
		return err
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		return err
	}
	defer func() { err = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was) }()
	f()
	return nil
}

// limit is n in the type of another limit, which systems do not agree on.
func limit[T int64 | uint64](_ T, n uintptr) T { return T(n) }

// cpuTime is the processor time that the process has used, in nanoseconds.
func cpuTime() (int64, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano(), err
}
