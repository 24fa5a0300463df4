package transporttest

import (
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

var leaves = []testCase{
	{"leave/fed", leaveEachWay(leaveFed)},
	{"leave/output", leaveEachWay(leaveOutput)},
	{"leave/paused", leaveEachWay(leavePaused)},
	{"leave/wakes", leaveEachWay(leaveWakes)},
	{"leave/end", leaveEachWay(leaveEnd)},
	{"leave/ending", leaveEachWay(leaveEnding)},
	{"leave/reset", leaveEachWay(leaveReset)},
	{"leave/deadline", leaveEachWay(leaveDeadline)},
	{"leave/closed", leaveEachWay(leaveClosed)},
	{"leave/transport closes", leaveEachWay(leaveStopped)},
	{"leave/closed before", leaveLate},
	{"leave/goroutine ends", leaveEachWay(leaveExit)},
	{"leave/many", leaveEachWay(leaveMany)},
	{"leave/stay", leaveStay},
	{"leave/takeover anywhere", leaveAnywhere},
	{"leave/closed anywhere", leaveClosedAnywhere},
}

// leaveFed wants input to be fed and answered while goroutines that have left run: what was
// behind it in the same input, what comes later, and in parts.
func leaveFed(x *leaving) {
	c, other := x.dial(), x.dial()
	c.send("plain one\n" + x.how + " a\nplain two\nplain thr")
	c.want("one\na " + x.answer + "\ntwo\n")
	c.send("ee\n" + x.how + " b\n")
	c.want("three\nb " + x.answer + "\n")
	c.send(x.how + " c\n" + x.how + " d\npl")
	c.want("c " + x.answer + "\nd " + x.answer + "\n")
	other.send("plain other\n")
	other.want("other\n")
	if n := x.left.Load(); n != 4 {
		x.Errorf("%s: %d goroutines have left, want 4", x.how, n)
	}
	x.handedOver(4)
	close(x.release)
	c.wantAll("a done", "b done", "c done", "d done")
	c.send("ain five\n")
	c.want("five\n")
}

// leaveOutput leaves with more output than the socket takes.
func leaveOutput(x *leaving) {
	c := x.dialWith(&net.Dialer{Control: small})
	c.send("large\n" + x.how + " a\nplain b\n")
	s := x.session(x.first)
	x.until("Feed has left", func() bool { return x.left.Load() == 1 })
	woken := make(chan struct{})
	s.Wake(func(*buf.Queue) error { close(woken); return nil })
	x.wait(woken, "a function runs while output is pending")
	before := x.drained.Load()
	c.want(string(pattern(duplexSize)) + "a " + x.answer + "\nb\n")
	x.until("Drained is called", func() bool { return x.drained.Load() > before })
	close(x.release)
	c.want("a done\n")
}

// leavePaused leaves while the session is paused.
func leavePaused(x *leaving) {
	c := x.dial()
	c.send("paused\n" + x.how + " a\nplain b\n")
	c.want("a " + x.answer + "\n")
	s := x.session(x.first)
	time.Sleep(5 * time.Millisecond)
	s.Wake(func(out *buf.Queue) error {
		s.Pause(false)
		_, err := fmt.Fprint(out, "resumed\n")
		return err
	})
	c.want("resumed\nb\n")
	close(x.release)
	c.want("a done\n")
}

// leaveWakes wants functions that have come during Feed to run when it has left.
func leaveWakes(x *leaving) {
	c := x.dial()
	s := x.session(x.first)
	var b strings.Builder
	for i := range 50 {
		if i == 25 {
			c.send(x.how + " a\n")
		}
		s.Wake(func(out *buf.Queue) error {
			_, err := fmt.Fprintf(out, "%d\n", i)
			return err
		})
		time.Sleep(100 * time.Microsecond)
		fmt.Fprintf(&b, "%d ", i)
	}
	got := make([]string, 0, 51)
	for range 51 {
		l, err := c.r.ReadString('\n')
		if err != nil {
			x.Fatal(err)
		}
		if l = strings.TrimSuffix(l, "\n"); l != "a "+x.answer {
			got = append(got, l)
		}
	}
	if s := strings.Join(got, " ") + " "; s != b.String() {
		x.Errorf("%s: functions run in the order %s", x.how, s)
	}
	close(x.release)
	c.want("a done\n")
}

// leaveEnd has the peer end while a goroutine that has left runs.
func leaveEnd(x *leaving) {
	c := x.dial()
	x.away(c)
	c.send("plain c\npl")
	c.halfClose()
	c.want("c\n")
	c.wantEnd()
	if got := <-x.eofs; got != "pl" {
		x.Errorf("%s: EOF is given %q", x.how, got)
	}
	x.ended(nil)
}

// leaveEnding has the peer end before Feed leaves, or at that time: Lost may be told.
func leaveEnding(x *leaving) {
	c := x.dial()
	c.send("plain c\n" + x.how + " a\npl")
	c.halfClose()
	c.want("c\na " + x.answer + "\n")
	c.wantEnd()
	if got := <-x.eofs; got != "pl" {
		x.Errorf("%s: EOF is given %q", x.how, got)
	}
	x.wait(x.session(x.first).gone, "the session is closed")
	close(x.release)
}

func leaveReset(x *leaving) {
	c := x.dial()
	x.away(c)
	c.reset()
	s := x.session(x.first)
	x.wait(s.gone, "the session is closed")
	x.ended(s.why)
}

// leaveDeadline has a timeout pass that was set before Feed has left.
func leaveDeadline(x *leaving) {
	c := x.dial()
	c.send("timeout\n" + x.how + " a\n")
	c.want("a " + x.answer + "\n")
	x.wait(x.expired, "the session expires")
	c.wantEnd()
	x.ended(nil)
}

// leaveClosed closes the connection in all ways while a goroutine that has left runs.
func leaveClosed(x *leaving) {
	for i, how := range []transport.Closing{transport.Orderly, transport.Abrupt, transport.Reset} {
		c := x.dial()
		x.away(c)
		s := x.session(x.first + i)
		s.Close(how)
		c.wantGone()
		x.wait(s.gone, "the session is closed")
		if s.why != nil || s.losts.Load() > 1 {
			x.Errorf("%s: Closed receives %v, and Lost is told %d times", x.how, s.why, s.losts.Load())
		}
	}
	close(x.release)
}

// leaveStopped closes the transport while a goroutine that has left runs.
func leaveStopped(x *leaving) {
	c := x.dial()
	x.away(c)
	x.stop()
	c.wantGone()
	x.ended(transport.ErrStopped)
}

// leaveLate has Feeds leave whose connections, or transports, were closed before.
func leaveLate(e *env) {
	for _, how := range []struct {
		what  string
		close func(x *leaving, s *session)
		why   error
		sent  bool // what Feed has left in out
	}{
		{"orderly", func(_ *leaving, s *session) { s.Close(transport.Orderly) }, nil, true},
		{"abruptly", func(_ *leaving, s *session) { s.Close(transport.Abrupt) }, nil, false},
		{"with a reset", func(_ *leaving, s *session) { s.Close(transport.Reset) }, nil, false},
		{"by the transport", func(x *leaving, _ *session) { x.stop() }, transport.ErrStopped, false},
	} {
		x := leavingOn(e)
		c := x.dial()
		s := x.session(x.first)
		c.send("late a\n")
		x.handedOver(1)
		x.until("Feed runs", func() bool { return s.inside.Load() == 1 })
		how.close(x, s)
		if e.served != nil { // the loop has seen it when it has seen what comes later
			x.transport.Each(func(transport.Session, *buf.Queue) error { return nil }, nil)
		}
		close(x.release)
		if how.sent {
			c.want("a left\n")
		}
		c.wantGone()
		x.wait(s.gone, "the session is closed")
		if s.why != how.why {
			x.Errorf("closed %s: Closed receives %v, want %v", how.what, s.why, how.why)
		}
		x.until("Feed ends", func() bool { return x.left.Load() == 0 })
		if e.served != nil {
			e.stop()
		}
	}
}

// leaveExit has goroutines end that have left.
func leaveExit(x *leaving) {
	c := x.dial()
	x.how += "-exit"
	x.away(c)
	x.away(c)
	close(x.release)
	x.until("those that have left end", func() bool { return x.left.Load() == 0 })
	c.send("leave a\nplain b\n")
	c.wantAll("a left", "b", "a done")
	c.halfClose()
	c.wantEnd()
}

// leaveMany has many goroutines leave.
func leaveMany(x *leaving) {
	const conns, each = 30, 5
	var clients []*client
	for range conns {
		clients = append(clients, x.dial())
	}
	for range each {
		for _, c := range clients {
			c.send(x.how + " a\nplain b\n")
		}
		for _, c := range clients {
			c.want("a " + x.answer + "\nb\n")
		}
	}
	if n := x.left.Load(); n != conns*each {
		x.Errorf("%s: %d goroutines have left, want %d", x.how, n, conns*each)
	}
	close(x.release)
	for _, c := range clients {
		c.want(strings.Repeat("a done\n", each))
		c.send("plain c\n")
		c.want("c\n")
	}
}

// leaveStay has a Feed leave whose goroutine has kept the connection before.
func leaveStay(e *env) {
	x := leavingOn(e)
	x.how, x.answer = "leave", "left"
	c := x.dial()
	for range 3 {
		before := x.transport.Stats().Stayed
		x.until("the connection is kept", func() bool {
			c.send("wait a\n")
			c.want("a\n")
			return x.transport.Stats().Stayed >= before+3 || x.limits.NoTakeover
		})
		x.away(c)
		c.send(x.how + " a\nplain b\n")
		c.want("a left\nb\n")
	}
	close(x.release)
	c.want(strings.Repeat("a done\n", 6))
	c.send("plain c\n")
	c.want("c\n")
}

// wantAll reads lines in any order.
func (c *client) wantAll(lines ...string) {
	c.e.Helper()
	want := map[string]int{}
	for _, l := range lines {
		want[l]++
	}
	for range lines {
		l, err := c.r.ReadString('\n')
		if l = strings.TrimSuffix(l, "\n"); err != nil || want[l] == 0 {
			c.e.Errorf("client reads %.80q, %v, want one of %v", l, err, want)
			return
		}
		want[l]--
	}
}
