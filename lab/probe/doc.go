// Package probe reads what Linux and a Go runtime know about the processes under
// test, from outside: memory, threads, context switches, stolen time, pressure,
// and a subject's control socket. The one thing it sets is the congestion
// control of a server's listening sockets.
//
// On other systems than Linux it compiles, and every call that needs /proc
// returns [errors.ErrUnsupported].
package probe
