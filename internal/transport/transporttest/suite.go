// Package transporttest holds what every transport must pass: [Run] is the
// conformance suite of the contract in package transport. [Fake] is a transport
// for one session in memory, which does to the session, from a seed, whatever a
// network may do.
package transporttest

import (
	"net"
	"slices"
	"testing"

	"github.com/redline-go/redline/internal/transport"
)

// A Factory makes the transport under test.
type Factory func(c transport.Config) (transport.Transport, error)

// Limits names what a transport is known not to do, so that the suite asks for
// the rest.
type Limits struct {
	// LostBehindData is set when the transport does not notice that a peer has
	// gone behind bytes that nobody has read.
	LostBehindData bool
	// NoTakeover is set when connections do not share loops.
	NoTakeover bool
	// Secure makes the connection of a client that speaks what the factory's sessions
	// expect; nil leaves it as it is. See plainOnly.
	Secure func(nc net.Conn) (net.Conn, error)
}

// Run runs the suite.
func Run(t *testing.T, f Factory, limits Limits) {
	t.Helper()
	// The runtime's poller has descriptors of its own, from its first use on.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	for _, c := range slices.Concat(cases, stays, leaves, walks) {
		if limits.Secure != nil && plainOnly[c.name] != "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			e := newEnv(t, f, limits)
			c.run(e)
			e.close()
		})
	}
}

type testCase struct {
	name string
	run  func(e *env)
}

// plainOnly are the cases that are not run with Secure, and why.
var plainOnly = map[string]string{
	"input/lines":                           "as many bytes are sent as received",
	"end/slow peer that moves":              "output after the session has closed",
	"end/abrupt":                            "the end of the stream alone",
	"block/write fails":                     "the number of bytes received",
	"block/goroutine ends before":           "sessions are created before a client has sent anything",
	"transport/adopt":                       "clients connect before the transport serves",
	"transport/close":                       "the number of bytes received",
	"transport/each":                        "connections whose clients have shaken hands, and the server not yet",
	"transport/max connections":             "connections that are not accepted have been dialled",
	"transport/stop accepting when full":    "the same",
	"transport/stop accepting, made slowly": "sessions are created before a client has sent anything",
}

var cases = []testCase{
	{"input/lines", lines},
	{"input/partial", partialInput},
	{"input/more than a buffer", longLine},
	{"input/pause and resume", pauseResume},
	{"input/read within Feed", readInFeed},
	{"input/give back", unread},
	{"input/arrived already", arrivedAlready},
	{"output/kinds", outputKinds},
	{"output/slow reader", slowReader},
	{"output/tiny buffers", tinyBuffers},
	{"output/narrow window", narrowWindow},
	{"output/flush", flush},
	{"output/drained", drained},
	{"output/drained while busy", drainedBusy},
	{"output/peer never reads", neverReads},
	{"output/high water", highWaterSet},
	{"output/untaken", untaken},
	{"end/half-close", halfClose},
	{"end/half-close with unread", halfCloseUnread},
	{"end/reset anywhere", resetAnywhere},
	{"end/close within Feed", closeInFeed},
	{"end/close from elsewhere", closeElsewhere},
	{"end/cut", cut},
	{"end/abrupt", abrupt},
	{"end/reset", resetBusy},
	{"end/from within", closeWithin},
	{"end/slow peer that moves", slowToClose},
	{"end/slow peer that does not", stuckToClose},
	{"end/answer before reset", lingers},
	{"end/descriptors are used again", reuse},
	{"wake/order", wakeOrder},
	{"wake/while busy", wakeBusy},
	{"wake/after close", wakeClosed},
	{"block/many", blockedMany},
	{"block/many, detached", blockedDetached},
	{"block/pipelined behind", blockedPipelined},
	{"block/lends its output", lends},
	{"block/peer leaves", lostWhileBlocked},
	{"block/peer leaves behind data", lostBehindData},
	{"block/peer leaves while paused", lostWhilePaused},
	{"block/write fails", lostByWrite},
	{"block/lost before Read", lostBeforeRead},
	{"block/takeover anywhere", takeoverAnywhere},
	{"block/input released", released},
	{"block/goroutine ends", goexit},
	{"block/goroutine ends before", goexitMaking},
	{"deadline/idle", deadlineIdle},
	{"deadline/moved", deadlineMoved},
	{"deadline/in Read", deadlineRead},
	{"deadline/in Flush", deadlineFlush},
	{"duplex/reader waits, writer flushes", duplexFlush},
	{"duplex/both wait", duplexBoth},
	{"duplex/peer leaves", duplexLeave},
	{"duplex/timeouts", duplexTimeout},
	{"duplex/many", duplexMany},
	{"hijack/unread", hijackUnread},
	{"hijack/nothing unread", hijackPlain},
	{"hijack/deadline", hijackLate},
	{"hijack/no descriptors", hijackRefused},
	{"transport/max connections", maxConns},
	{"transport/accept rate", acceptRate},
	{"transport/stop accepting", stopAccepting},
	{"transport/stop accepting when full", stopFull},
	{"transport/session made slowly", madeSlowly},
	{"transport/stop accepting, made slowly", stopSlowly},
	{"transport/session closed slowly", closedSlowly},
	{"transport/each", each},
	{"transport/close", closeIdle},
	{"transport/close while blocked", closeBlocked},
	{"transport/close unserved", closeUnserved},
	{"transport/adopt", adopt},
	{"transport/unix", unixSocket},
	{"transport/addresses", addresses},
	{"runtime/collector", collector},
	{"runtime/idle", idle},
}
