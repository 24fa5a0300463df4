// Package lead implements the role that goroutines of an event loop take in turn: one leads
// the loop, the others follow.
//
// A [Hand] is a goroutine. The hand that leads a loop runs foreign code (a session, and
// with it a handler) between Begin and End. If the code does not return in time, the
// watchdog deposes the hand and another one leads; the deposed hand finds out at End. A
// hand that is about to block deposes itself, with Detach.
//
// The state of a loop is one number, even while its leader minds the loop, odd while it
// runs foreign code. The race between a leader that returns and the code that deposes it:
//
//  1. Begin: the leader stores the next odd number, s.
//  2. The watchdog reads s at two looks in a row: nothing has moved.
//  3. Each goroutine that wants the loop compares s and swaps it for s+1: the leader
//     in End, the watchdog, or the leader in Detach. Exactly one of them succeeds,
//     because s never occurs again.
//  4. If it was End, nothing has happened. Otherwise a follower is called; it
//     starts from s+1, and the hand that runs the foreign code has nothing but
//     its own memory and its connection from then on.
//
// Step 4 places a requirement on a transport: between Begin and End the hand must be able
// to lose everything that belongs to the loop at any instruction. So all of the loop's
// state is consistent at Begin, foreign code receives only memory of the hand and of its
// connection, and after an End that returned false the loop is reached through its [Inbox],
// as by any other goroutine.
//
// The leader that has taken over from such a hand knows the number s ([Hand.Taken]), and so
// whether a call that was noted before Begin is the one that did not return.
//
// So that the next call of what does not return begins off the loop, foreign code names a
// Watch on its hand, which is told by the watchdog between steps 3 and 4 ([Hand.Watch]). And
// so that whatever does not return holds a loop only a few times, a loop that has been taken
// over often is given up at Begin, for some time.
//
// Foreign code may also end its goroutine with runtime.Goexit. Then the hand ends like one
// that is deposed: a deferred function of the crew passes the loop on, if the hand led it,
// and notifies the transport.
//
// Memory belongs to the lead: a buffer for input is passed from leader to leader, unless
// foreign code still uses it when its hand is deposed (see [Hand.Release]). Everything else
// that a hand may need is created on demand. So code that blocks for long holds little more
// than the stack of its goroutine.
//
// The watchdog has one alarm for all loops of a [Crew], a timerfd. While loops move it
// looks at coarse intervals, five takeover times (5 ms), and again one takeover time after
// it has found a loop within a call or taken one over; while all loops are parked it does not look. The
// alarm also rings the bells of loops whose next deadline has come.
//
// The hands of a [Crew] are interchangeable: a few of those without a loop wait for one;
// the rest end.
package lead
