// Package sockets is what the transports on non-blocking sockets have in common:
// all but how a loop learns what its sockets are ready for, which is a [Driver].
//
// A loop has one driver, one listening socket an address and one leader. Events
// that nobody wants (input of a connection that is being fed, is paused, or has
// too much unsent) are the driver's to hold back, once it has been told.
//
// Who may touch what of a connection:
//
//	leader   flags, Watched, wakes, timer, the table       never within Begin and End
//	feeder   own, more.rest; more itself when it is nil    the goroutine in the session's code
//	both     more.out, under more.mu; deadlines, closed    atomic
//
// While nothing is fed the leader is the feeder too. The feeder may be several
// goroutines that take turns: see [transport.Conn].
package sockets
