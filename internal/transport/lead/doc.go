// Package lead is the role that goroutines of an event loop play in turn: one
// leads the loop, the others follow.
//
// A [Hand] is a goroutine. The hand that leads a loop runs foreign code (a session,
// and with it a handler) right there, between Begin and End. When the code does not return in time, the watchdog deposes the
// hand and another one leads on; the deposed one finds out at End. A hand that
// knows it will block deposes itself, with Detach.
//
// The state of a loop is one number, even while its leader minds the loop, odd
// while it runs foreign code. The race between a leader that comes back and those
// who depose it:
//
//  1. Begin: the leader stores the next odd number, s.
//  2. The watchdog reads s at two looks in a row: nothing has moved.
//  3. Whoever wants the loop compares s and swaps it for s+1: the leader in End,
//     the watchdog, or the leader in Detach. One of them succeeds, as s never
//     comes again.
//  4. If it was End, nothing has happened. Otherwise a follower is called; it
//     starts from s+1, and the hand that runs the foreign code has nothing but
//     its own memory and its connection from then on.
//
// What step 4 demands of a transport: between Begin and End the hand must be able
// to lose everything that belongs to the loop at any instruction. So all of the
// loop's state is whole at Begin, foreign code is given memory of the hand and of
// its connection only, and after an End that returned false the loop is reached
// through its [Inbox], as by any other goroutine.
//
// Foreign code may also end its goroutine, by runtime.Goexit. Then the hand ends as
// one that is deposed: a deferred function of the crew's hands the loop on, if the
// hand led it, and tells the transport.
//
// Memory belongs to the lead: a buffer for input goes from leader to leader, unless
// foreign code goes on using it when its hand is deposed (see [Hand.Release]), and
// what a hand may need besides is made when it is needed. So code that blocks for
// long holds little more than the stack of its goroutine.
//
// The watchdog has one alarm for all loops of a [Crew], a timerfd. While loops move it
// looks at coarse intervals, five takeover times (5 ms), and again one takeover time after
// it has found a loop within a call; while all loops are parked it does not look. The
// alarm also rings the bells of loops whose next deadline has come.
//
// The hands of a [Crew] are interchangeable: those that have no loop wait for one,
// a few of them; the rest end.
package lead
