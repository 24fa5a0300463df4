package transporttest

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// A Fake is a connection in memory for the test of one session. Everything that a network
// may decide, it decides from a seed: where input is split, how much output leaves at a time
// and when it is acknowledged, and the order of concurrent events. It checks the session's
// side of the contract: input is overwritten when Feed returns or leaves, slices in the output
// must be unchanged when they are sent, and a Feed that has left adds no output.
//
// The Feed of a [transport.Leaver] runs on a goroutine of its own. If it has not returned
// after a time that depends on the seed, at most a millisecond, it is taken over: Left is
// asked, by the goroutine that drives. If the Feed has left, Step returns.
//
// The test drives it: nothing happens outside of Step, Run and Wait, except that Lost is
// called by the goroutine that resets or ends the connection, or by a separate goroutine if
// the session caused it. Any goroutine may call its methods; only one at a time may call
// those three.
type Fake struct {
	t    Failer
	rng  *rand.Rand // of the goroutine that drives
	mu   sync.Mutex
	cond sync.Cond

	session transport.Session
	local   net.Addr
	remote  net.Addr

	input    []byte // sent by the peer, not delivered
	rest     []byte // delivered, not consumed
	in       []byte // being fed, until it is released
	gaveBack []byte
	output   bytes.Buffer // received by the peer
	unacked  int          // bytes of it that the peer's system has not acknowledged
	pending  buf.Queue
	copied   []byte // what pending was when it was filled
	files    bool   // there were files in pending: copied is of no use
	tasks    []func(out *buf.Queue) error
	walks    []*fakeJob
	laters   []*fakeJob    // of Later
	deadline time.Time     // of SetTimeout
	roomBy   time.Time     // of SetWriteTimeout
	ahead    time.Duration // of this connection's time

	faults   float64   // probability of a reset at each step
	high     int       // output from which nothing is fed, in bytes
	refusal  error     // of Hijack
	fed      *fakeFeed // the call of a Leaver's Feed that has not returned and not left
	watch    *transport.Watch
	busy     bool
	owed     bool // Drained is to be told
	quiet    bool // the session need not be told Drained if the output of this call is accepted at once
	detached bool
	paused   bool
	held     bool // too much is unsent
	again    bool
	ended    bool // by the peer
	toldEOF  bool
	toldLost bool
	telling  bool // Lost has not returned
	reset    bool // by the peer
	stalled  bool
	closing  bool
	cut      bool // by the session: Abrupt or Reset
	cutHard  bool // the latter
	closed   bool
	hijacked bool
	why      error
	feeds    int
}

// A Failer is the part of [testing.TB] that a Fake needs.
type Failer interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

var _ transport.Conn = (*Fake)(nil)

const (
	highWater = 64 << 10         // output from which nothing is fed, unless a test says otherwise
	drainTime = 30 * time.Second // for the output of a connection to be closed, if its session does not say
)

// NewFake returns a connection whose whims depend on seed alone, with a new
// session.
func NewFake(t Failer, seed uint64, newSession func(transport.Conn) transport.Session) *Fake {
	f := &Fake{
		t: t, rng: rand.New(rand.NewPCG(seed, 5)), high: highWater,
		local:  &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80},
		remote: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 2), Port: 40000},
	}
	f.cond.L = &f.mu
	f.session = newSession(f)
	return f
}

// Faults resets the connection at each step with a probability.
func (f *Fake) Faults(p float64) { f.locked(func() { f.faults = p }) }

// HighWater sets how much output may be pending for the session to be fed, as
// [transport.Config] does: before anything happens.
func (f *Fake) HighWater(n int) { f.locked(func() { f.high = n }) }

// RefuseHijack has Hijack fail with err, or work again if it is nil.
func (f *Fake) RefuseHijack(err error) { f.locked(func() { f.refusal = err }) }

// Send is the peer sending bytes.
func (f *Fake) Send(p []byte) { f.locked(func() { f.input = append(f.input, p...) }) }

// SendString is Send for a string.
func (f *Fake) SendString(s string) { f.Send([]byte(s)) }

// End is the peer ending what it sends. A session that is busy is told Lost.
func (f *Fake) End() {
	f.locked(func() { f.ended = true })
	f.lost(io.EOF)
}

// Reset is the peer going away, at once.
func (f *Fake) Reset() {
	f.locked(func() { f.reset = true })
	f.lost(transport.ErrLost)
}

// Stall makes the peer read nothing, or read again.
func (f *Fake) Stall(stalled bool) { f.locked(func() { f.stalled = stalled }) }

// Advance lets time pass for the connection's timeouts.
func (f *Fake) Advance(d time.Duration) { f.locked(func() { f.ahead += d }) }

// Output returns what the peer has received so far.
func (f *Fake) Output() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return bytes.Clone(f.output.Bytes())
}

// Closed reports whether the session was told Closed, and with what.
func (f *Fake) Closed() (closed bool, why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed, f.why
}

// Cut reports whether the session has ended the connection with a reset.
func (f *Fake) Cut() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cutHard
}

// Feeds is how often Feed was called.
func (f *Fake) Feeds() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.feeds
}

// locked runs a function under the lock, and tells those who wait.
func (f *Fake) locked(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
	f.cond.Broadcast()
}

// lost tells the session Lost if it is to be told now.
func (f *Fake) lost(err error) {
	f.mu.Lock()
	tell := f.busy || f.paused
	if tell = tell && f.tells(); tell {
		f.telling = true
	}
	f.mu.Unlock()
	if tell {
		f.tell(err)
	}
}

// tellLost is lost for who may hold what the session needs for it: it does not wait.
// f.mu is held.
func (f *Fake) tellLost(err error) {
	if f.busy && f.tells() {
		f.telling = true
		go f.tell(err)
	}
}

// tells reports whether Lost may be called, once. f.mu is held.
func (f *Fake) tells() bool {
	if f.toldLost || f.closed || f.hijacked {
		return false
	}
	f.toldLost = true
	return true
}

func (f *Fake) tell(err error) {
	defer f.locked(func() { f.telling = false })
	f.session.Lost(err)
}

// String names the state of the connection, for messages of failed tests.
func (f *Fake) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprintf("%d bytes to be delivered, %d not consumed, %d pending, %d received; closed %v (%v)",
		len(f.input), len(f.rest), f.pending.Len(), f.output.Len(), f.closed, f.why)
}
