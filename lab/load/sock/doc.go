// Package sock is the thin layer between a load generator's event loop and the
// kernel: sockets on their way to one server, from one source address or many, and
// the three calls of the hot path.
package sock
