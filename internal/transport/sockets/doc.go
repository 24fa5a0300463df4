// Package sockets is shared by the transports on non-blocking sockets. It implements
// everything except how a loop learns what its sockets are ready for, which is a [Driver].
// Features that only some drivers have are small interfaces, which the loop looks up once.
//
// A loop has one driver, one listening socket per address and one leader. The driver holds
// back unwanted events (input of a connection that is being fed, is paused, or has too much
// unsent output) once the loop has told it to.
//
// This table shows which goroutine may use which parts of a connection:
//
//	leader   flags, Watched, meanwhile, timer, the table   never within Begin and End
//	feeder   own, more.rest, fedAt; makes more             the goroutine in the session's code
//	both     more.out, under more.mu; deadlines, closed    atomic
//
// While nothing is fed, the leader is also the feeder. The feeder may be several goroutines
// that take turns: see [transport.Feeding]. They may also outlive the goroutine in the
// session's code, if that ends itself: then the connection is closed, and their part of it
// is left to them.
//
// A feeder off the loop whose connection is active keeps it between Feeds: see stay. A feeder
// may also leave its connection before Feed has returned: see leaver. Then it is no longer
// the feeder, and has nothing but its hand.
//
// Code outside of any session also runs on the loop: next of a walk, and functions of Later,
// see job.
//
// # Descriptors
//
// The number of a closed descriptor may be reused for another file. So the last holder of a
// connection's descriptor closes it (see socket), and the number is -1 from then on. A
// hijacked connection gets a duplicate before the loop releases the descriptor. A feeder
// that stays has a duplicate, and closes it before it returns the connection or gives it
// away. The descriptor of a closed listener is -1, and the kernel is asked nothing about a
// listener before the loop runs. Drivers identify pending operations by the connection's
// generation.
package sockets
