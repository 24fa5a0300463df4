// Package sock is the thin layer between a load generator's event loop and the kernel:
// connecting sockets to one server, from one source address or many, and the three system
// calls of the hot path.
package sock
