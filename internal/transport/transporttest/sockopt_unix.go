//go:build unix

package transporttest

import "syscall"

// setReceiveBuffer sets the size of a socket's receive buffer.
func setReceiveBuffer(fd uintptr, n int) error {
	return syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, n)
}

// cpuTime is the processor time that the process has used, in nanoseconds.
func cpuTime() (int64, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano(), err
}
