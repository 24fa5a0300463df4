// Package epoll is the transport on Linux's epoll: level-triggered, one instance,
// one listening socket and one leader a loop.
//
// A request costs a share of an epoll_wait, one read and one write. Nothing is
// disarmed in advance: an event that nobody wants (input of a connection that is
// being fed, is paused, or has too much unsent) takes the connection's interest
// in it away when it comes, and the loop restores it when it is wanted.
//
// Who may touch what of a connection:
//
//	leader   flags, armed, wakes, timer, the table         never within Begin and End
//	feeder   own, more.rest; more itself when it is nil    the goroutine in the session's code
//	both     more.out, under more.mu; deadline, closed     atomic
//
// While nothing is fed the leader is the feeder too.
package epoll
