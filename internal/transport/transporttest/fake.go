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

// A Fake is a connection in memory for the test of one session. What the network
// may choose, it chooses from a seed: where input is split, how much of the output
// leaves at a time and when that is acknowledged, what comes first when several things
// may happen. It checks the
// session's side of the contract: input is overwritten when Feed returns, and
// slices in the output must still be what they were when they are sent.
//
// The test drives it: nothing happens outside of Step, Run and Wait, but for Lost,
// which is called by whoever resets the connection or ends it, and by a goroutine of
// its own when the session's side has brought it about.
// All methods may be called by any goroutine, those three by one at a time.
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
	deadline time.Time     // of SetTimeout
	roomBy   time.Time     // of SetWriteTimeout
	ahead    time.Duration // of this connection's time

	faults   float64 // probability of a reset at each step
	high     int     // output from which nothing is fed, in bytes
	refusal  error   // of Hijack
	busy     bool
	owed     bool // Drained is to be told
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

// Run steps until nothing can happen any more without somebody else.
func (f *Fake) Run() {
	f.t.Helper()
	for n := 0; f.Step(); n++ {
		if n > 10_000_000 {
			f.t.Fatalf("the session never comes to rest")
		}
	}
}

// Wait steps until ok holds, for the work of other goroutines too. It fails the
// test when that takes too long.
func (f *Fake) Wait(what string, ok func() bool) {
	f.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Microsecond) {
		f.Run()
		if ok() {
			return
		}
		if time.Now().After(end) {
			f.t.Fatalf("waited in vain until %s", what)
			return
		}
	}
}

// Step lets one thing happen, and reports whether there was one.
func (f *Fake) Step() bool {
	f.mu.Lock()
	if f.closed || f.hijacked {
		f.mu.Unlock()
		return false
	}
	if f.faults > 0 && f.rng.Float64() < f.faults {
		f.reset = true
	}
	may := f.choices()
	f.mu.Unlock()
	if len(may) == 0 {
		return false
	}
	may[f.rng.IntN(len(may))]()
	return true
}

// choices are the things that can happen. f.mu is held.
func (f *Fake) choices() (may []func()) {
	add := func(ok bool, do func()) {
		if ok {
			may = append(may, do)
		}
	}
	switch {
	case f.cut:
		return []func(){func() { f.end(f.why) }}
	case f.reset:
		return []func(){func() { f.end(transport.ErrLost) }}
	}
	unsent := f.pending.Len()
	add(unsent > 0 && !f.stalled, f.drain)
	add(f.unacked > 0 && !f.stalled, func() { f.locked(f.acknowledge) })
	if f.closing {
		add(unsent == 0, func() { f.end(nil) })
		if unsent > 0 && f.deadline.IsZero() {
			f.deadline = f.after(drainTime)
		}
		add(unsent > 0 && f.over(f.deadline), f.expire)
		return may
	}
	if unsent > f.high {
		f.held = true
	} else if unsent <= f.high/2 {
		f.held = false
	}
	readable := !f.paused && !f.held && !f.toldEOF
	add(readable && (len(f.input) > 0 || f.again && len(f.rest) > 0), f.feed)
	add(readable && f.ended && len(f.input) == 0 && !(f.again && len(f.rest) > 0), f.eof)
	add(f.owed && unsent == 0, f.drained)
	add(len(f.tasks) > 0, f.wake)
	add(f.over(f.deadline), f.expire)
	return may
}

// over reports whether a time has passed; the zero time never does.
func (f *Fake) over(at time.Time) bool {
	return !at.IsZero() && !time.Now().Add(f.ahead).Before(at)
}

// some is a number from 1 to n, often a small one.
func (f *Fake) some(n int) int {
	switch f.rng.IntN(4) {
	case 0:
		return n
	case 1:
		return 1
	default:
		return 1 + f.rng.IntN(min(n, 1<<f.rng.IntN(16)))
	}
}

// call runs code of the session with a queue, and does with its result what a
// transport does.
func (f *Fake) call(code func(out *buf.Queue) error) (err error) {
	var out buf.Queue
	defer out.Release()
	f.locked(func() { f.busy, f.detached = true, false })
	err = code(&out)
	f.locked(func() {
		f.busy = false
		if f.hijacked {
			return
		}
		f.take(&out)
		if err != nil {
			f.closing = true
		}
		if len(f.gaveBack) > 0 {
			f.rest = append(f.rest, f.gaveBack...)
			f.gaveBack, f.again = nil, true
		}
		if len(f.rest) > 0 && f.pending.Len() > 0 {
			f.again = true
		}
	})
	return err
}

// take moves out to what is pending, and remembers what it is. f.mu is held.
func (f *Fake) take(out *buf.Queue) {
	if f.reset || f.cut {
		out.Reset()
	}
	if file, _, _ := out.NextFile(); file != nil {
		f.files = true
	}
	n := 0
	for _, b := range out.Buffers(make([][]byte, 0, 4096)) {
		f.copied = append(f.copied, b...)
		n += len(b)
	}
	if n != out.Len() {
		f.files = true
	}
	f.owed = f.owed || out.Len() > 0
	f.pending.Take(out)
}

// drain lets some of the output leave.
func (f *Fake) drain() {
	f.locked(func() {
		if f.rng.IntN(3) > 0 {
			f.transmit(f.some(f.pending.Len()))
		}
	})
}

// transmit lets up to n bytes leave. f.mu is held.
func (f *Fake) transmit(n int) {
	b := f.pending.First()
	if file, off, size := f.pending.NextFile(); file != nil {
		b = make([]byte, min(n, size))
		if k, err := file.ReadAt(b, off); k < len(b) {
			f.t.Errorf("a file range in the output ends after %d bytes: %v", k, err)
			f.reset = true
			return
		}
	}
	b = b[:min(n, len(b))]
	if !f.files && !bytes.Equal(b, f.copied[:len(b)]) {
		f.t.Errorf("output has changed before it was sent: it was %.40q, and is %.40q", f.copied[:len(b)], b)
	}
	f.output.Write(b)
	f.unacked += len(b)
	f.pending.Discard(len(b))
	if f.copied = f.copied[min(len(b), len(f.copied)):]; f.pending.Len() == 0 {
		f.copied, f.files = nil, false
	}
}

// acknowledge is the peer's system telling that it has got some of the output. f.mu
// is held.
func (f *Fake) acknowledge() { f.unacked -= f.some(f.unacked) }

// drop lets go of what is pending. f.mu is held.
func (f *Fake) drop() {
	f.pending.Reset()
	f.copied, f.files = nil, false
}

// feed delivers some of the input.
func (f *Fake) feed() {
	var in []byte
	f.locked(func() {
		n := 0
		if len(f.input) > 0 && !(f.again && len(f.rest) > 0) {
			n = f.some(len(f.input))
		}
		in = append(f.rest, f.input[:n]...)
		in = in[:len(in):len(in)]
		f.in, f.input = in, f.input[n:]
		f.rest, f.again = nil, false
		f.feeds++
	})
	f.call(func(out *buf.Queue) error {
		n, err := f.session.Feed(in, out)
		if n < 0 || n > len(in) {
			f.t.Errorf("Feed consumes %d of %d bytes", n, len(in))
			n = len(in)
		}
		if f.in == nil && n < len(in) {
			f.t.Errorf("Feed consumes %d of %d bytes that it has released", n, len(in))
		}
		f.mu.Lock()
		f.rest = bytes.Clone(in[n:])
		f.mu.Unlock()
		f.spoil()
		return err
	})
}

// spoil overwrites what is being fed: whoever keeps a part of it finds out.
func (f *Fake) spoil() {
	for i := range f.in {
		f.in[i] = 0xdb
	}
	f.in = nil
}

func (f *Fake) eof() {
	f.locked(func() { f.toldEOF, f.toldLost = true, true })
	rest := f.rest
	f.call(func(out *buf.Queue) error { return f.session.EOF(rest, out) })
}

func (f *Fake) wake() {
	var task func(out *buf.Queue) error
	f.locked(func() { task, f.tasks = f.tasks[0], f.tasks[1:] })
	f.call(task)
}

func (f *Fake) drained() {
	f.locked(func() { f.owed = false })
	f.call(func(*buf.Queue) error {
		f.session.Drained()
		return nil
	})
}

func (f *Fake) expire() {
	closing := false
	f.locked(func() { f.deadline, closing = time.Time{}, f.closing })
	if err := f.call(f.session.Expired); err != nil && closing {
		f.locked(func() { f.sever(transport.ErrDeadline) })
	}
}

// sever ends the connection with a reset. f.mu is held.
func (f *Fake) sever(why error) {
	if !f.cut {
		f.why = why
	}
	f.cut, f.cutHard = true, true
	f.drop()
}

// end closes the connection.
func (f *Fake) end(why error) {
	f.locked(func() {
		for f.telling {
			f.cond.Wait()
		}
		f.closed, f.why, f.tasks = true, why, nil
		f.pending.Release()
	})
	f.session.Closed(why)
}

// String names the state of the connection, for messages of failed tests.
func (f *Fake) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprintf("%d bytes to be delivered, %d not consumed, %d pending, %d received; closed %v (%v)",
		len(f.input), len(f.rest), f.pending.Len(), f.output.Len(), f.closed, f.why)
}
