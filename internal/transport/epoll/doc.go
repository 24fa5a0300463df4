// Package epoll is the transport on Linux's epoll: a driver of package sockets with one
// level-triggered instance per loop.
//
// A request costs a share of an epoll_wait, one read and one write. Nothing is disarmed in
// advance: when an unwanted event occurs (input of a connection that is being fed, is
// paused, or has too much unsent output), the driver removes the connection's interest in
// it, and the loop restores the interest when it is wanted.
package epoll
