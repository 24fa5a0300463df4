// Package probe measures processes under test from outside, with data from Linux and from a
// Go runtime: memory, threads, context switches, stolen time, pressure, and a subject's
// control socket. The only thing that it changes is the congestion control of a server's
// listening sockets.
//
// The package compiles on other systems than Linux, where every call that needs /proc
// returns [errors.ErrUnsupported].
package probe
