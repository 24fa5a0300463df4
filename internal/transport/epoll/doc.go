// Package epoll is the transport on Linux's epoll: a driver of package sockets
// with one level-triggered instance a loop.
//
// A request costs a share of an epoll_wait, one read and one write. Nothing is
// disarmed in advance: an event that nobody wants (input of a connection that is
// being fed, is paused, or has too much unsent) takes the connection's interest
// in it away when it comes, and the loop restores it when it is wanted.
package epoll
