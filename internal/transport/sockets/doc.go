// Package sockets is what the transports on non-blocking sockets have in common:
// all but how a loop learns what its sockets are ready for, which is a [Driver]. What
// only some drivers do is a small interface of its own, for which the loop looks once.
//
// A loop has one driver, one listening socket an address and one leader. Events
// that nobody wants (input of a connection that is being fed, is paused, or has
// too much unsent) are the driver's to hold back, once it has been told.
//
// Who may touch what of a connection:
//
//	leader   flags, Watched, meanwhile, timer, the table   never within Begin and End
//	feeder   own, more.rest, fedAt; makes more             the goroutine in the session's code
//	both     more.out, under more.mu; deadlines, closed    atomic
//
// While nothing is fed the leader is the feeder too. The feeder may be several
// goroutines that take turns: see [transport.Feeding]. They may also outlive the one in
// the session's code, when that ends itself: then the connection is closed, and what
// they have of it is left to them.
//
// A feeder off the loop whose connection is hot keeps it between Feeds: see stay.
//
// # Descriptors
//
// The number of a descriptor that is closed may be somebody else's. So a connection's is
// closed by the last who holds it (see socket), and is -1 from then on; a hijacked one
// gets a duplicate before the loop lets go; a feeder that stays has one, and closes it
// before it gives the connection back, or away; a listener's is -1 when it is closed, and
// nothing is asked of the kernel about it before the loop runs; drivers name what is
// under way by the connection's generation.
package sockets
