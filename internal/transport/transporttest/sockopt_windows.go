package transporttest

import "syscall"

// setReceiveBuffer sets the size of a socket's receive buffer.
func setReceiveBuffer(fd uintptr, n int) error {
	return syscall.SetsockoptInt(syscall.Handle(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, n)
}

// withoutDescriptors runs f: there is no limit to be reached.
func withoutDescriptors(f func()) error { f(); return nil }

// cpuTime is the processor time that the process has used, in nanoseconds.
func cpuTime() (int64, error) {
	p, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0, err
	}
	var create, exit, kernel, user syscall.Filetime
	err = syscall.GetProcessTimes(p, &create, &exit, &kernel, &user)
	duration := func(t syscall.Filetime) int64 { return (int64(t.HighDateTime)<<32 | int64(t.LowDateTime)) * 100 }
	return duration(kernel) + duration(user), err
}
