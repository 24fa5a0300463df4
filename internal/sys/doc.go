// Package sys is the one place with raw system calls, and with the structures
// that the kernel reads and writes.
//
// Calls that never wait go through RawSyscall: they do not tell the scheduler,
// which saves 30 ns and keeps the processor. Nothing that may wait is allowed to:
// a thread that waits in a RawSyscall stops the garbage collector for as long.
// Sockets are non-blocking without exception; what may touch a disk goes through
// Syscall.
//
// Results are errno numbers, 0 for success: hot paths compare, they do not wrap.
package sys
