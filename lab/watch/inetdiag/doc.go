// Package inetdiag lists the TCP sockets of a network namespace with what the kernel knows
// about them, over netlink (sock_diag(7)). It needs no rights beyond those to enter the
// namespace.
package inetdiag
