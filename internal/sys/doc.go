// Package sys is the only place for raw system calls, and for the structures that the
// kernel reads and writes.
//
// Calls that never wait use RawSyscall: they do not notify the scheduler, which saves 30 ns
// and keeps the processor. Calls that may wait must not use it: a thread that waits in a
// RawSyscall stops the garbage collector for as long, and keeps a processor from other
// goroutines. All sockets are non-blocking; calls that may access a disk, and those that send
// much, use Syscall.
//
// Results are errno numbers, 0 for success: hot paths compare numbers and do not wrap
// errors.
package sys
