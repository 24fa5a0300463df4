package subscribe

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/load/run"
	"github.com/redline-go/redline/lab/load/sock"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tlsc"
)

const (
	bufferSize    = 64 << 10
	eventsPerPoll = 1024
	longestWait   = int64(20 * time.Millisecond) // between looks at the context
	refusedFor    = int64(2 * time.Second)       // without a connection while none stands
)

// Options are what a Loop is made of.
type Options struct {
	Config      spec.Subscribe
	Addr        string        // host:port of the server, numeric
	Request     []byte        // the head of the request, whole, as it goes on the wire
	Subscribers int           //
	Timeout     time.Duration // for connecting, and for the head of the answer
	ConnectRate float64       // connections begun a second, at most; 0: as fast as 256 at a time are answered
	Sources     []netip.Addr  // see sock.Config
	Congestion  string        // TCP congestion control; empty leaves the default
	TLS         *tlsc.Client  // nil: in clear
	HTTP2       bool          // in place of HTTP/1.1; without TLS by prior knowledge (RFC 9113, section 3.3)
	Share       int           // of HTTP/2: subscribers that share a connection; 0: 1
}

// Loop holds subscribers, on the thread of the goroutine that it belongs to.
type Loop struct {
	book   *book
	dialer *sock.Dialer
	poll   *sock.Poller
	done   <-chan struct{}
	base   time.Time
	buf    []byte
	again  []again
	turn   []again // the list that is worked through, swapped with again
	empty  int64   // when the kernel last had nothing else for us
	begun  int64   // of the window
	lines  *lines  // nil: HTTP/1.1 in clear
	broken error   // why the loop cannot go on
}

// again is a socket that was left before it was empty.
type again struct {
	index, gen int32
	flags      uint32
	since      int64 // that it is known to be readable
}

// New makes a Loop that connects nobody yet. The caller closes it.
func New(ctx context.Context, o *Options, rec Recorder) (*Loop, error) {
	b, err := newBook(o.Config, o.Subscribers, o.Request, o.Timeout, o.ConnectRate, rec)
	if err != nil {
		return nil, err
	}
	l := &Loop{book: b, done: ctx.Done(), base: time.Now(), buf: make([]byte, bufferSize)}
	if l.dialer, err = sock.NewDialer(sock.Config{
		Addr: o.Addr, Connections: o.connections(), Congestion: o.Congestion, Sources: o.Sources,
	}); err != nil {
		return nil, err
	}
	b.hangUp = l.hangUp
	if o.TLS != nil || o.HTTP2 {
		if l.lines, err = newLines(l, o); err != nil {
			return nil, err
		}
	}
	if l.poll, err = sock.NewPoller(eventsPerPoll); err != nil {
		return nil, err
	}
	return l, nil
}

// share is how many subscribers there are on a connection.
func (o *Options) share() int {
	if o.HTTP2 {
		return max(o.Share, 1)
	}
	return 1
}

// connections is how many there are at most, but for those that a server is leaving.
func (o *Options) connections() int { return (o.Subscribers + o.share() - 1) / o.share() }

// Close frees all descriptors.
func (l *Loop) Close() error {
	if l.lines != nil {
		l.lines.closeAll()
	}
	for i := range l.book.subs {
		l.hangUp(int32(i))
	}
	return l.poll.Close()
}

// TLS is what the handshakes since the loop was made came to; nil without any.
func (l *Loop) TLS() (*spec.TLSResult, error) {
	if l.lines == nil {
		return nil, nil
	}
	return l.lines.common.Handshakes.Result()
}

// hangUp closes a subscriber's socket, when it has one of its own. close(2) on a
// socket frees the descriptor whatever it returns.
func (l *Loop) hangUp(i int32) {
	if s := &l.book.subs[i]; s.fd >= 0 {
		_ = unix.Close(int(s.fd))
		s.fd = -1
	}
}

// Now is nanoseconds since the loop was made, monotonic.
func (l *Loop) Now() int64 { return int64(time.Since(l.base)) }

// Counts are what happened since the loop was made.
func (l *Loop) Counts() *Counts { return &l.book.Counts }

// Standing is how many subscribers listen at present.
func (l *Loop) Standing() int { return l.book.standing }

// Expected is how many of the subscribers may stand, now or later.
func (l *Loop) Expected() int { return len(l.book.subs) - int(l.book.Retired) }

// Spun is how many nanoseconds went into polls that found nothing.
func (l *Loop) Spun() int64 { return l.poll.Spun }

// Begin opens the window.
func (l *Loop) Begin() { l.begun, l.book.lowest = l.Now(), l.book.standing }

// Finish puts into r what is to be seen of subscribers at the window's end.
func (l *Loop) Finish(r *spec.Subscribed) {
	b, now := l.book, l.Now()
	r.Subscribers, r.Standing, r.Lowest, r.Retired = len(b.subs), b.standing, b.lowest, b.Retired
	b.quiet(r, l.begun, now)
}

// Silences yields, for each subscriber that stands, the nanoseconds since its last event.
func (l *Loop) Silences() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for _, silence := range l.book.silences(l.begun, l.Now()) {
			if !yield(silence) {
				return
			}
		}
	}
}

// Until runs the loop up to a time of Now, or to the end of all hope.
func (l *Loop) Until(t int64) error {
	for {
		now := l.Now()
		if now >= t {
			return nil
		}
		if err := l.upkeep(now); err != nil {
			return err
		}
		before := now
		all, asleep, err := l.poll.Wait(now, min(l.book.wake(t), now+longestWait), len(l.again) > 0)
		if err != nil {
			return err
		}
		if asleep { // there was nothing until just now
			before = l.Now()
			l.empty = before
		}
		for i := range l.poll.Events {
			ev := &l.poll.Events[i]
			if l.lines != nil {
				l.lines.event(ev.Fd, ev.Pad, ev.Events)
			} else if s := &l.book.subs[ev.Fd]; s.gen == ev.Pad && s.fd >= 0 {
				l.event(ev.Fd, s, ev.Events)
			}
		}
		l.turn, l.again = l.again, l.turn[:0]
		for _, a := range l.turn {
			if l.lines != nil {
				l.lines.readAgain(a)
			} else if s := &l.book.subs[a.index]; s.gen == a.gen && s.fd >= 0 {
				l.readable(a.index, s, a.flags, a.since)
			}
		}
		// What was not there when the kernel was asked came later.
		if all {
			l.empty = before
		}
	}
}

// upkeep does what is due: cancellation, timers, connections.
func (l *Loop) upkeep(now int64) error {
	select {
	case <-l.done:
		return run.ErrCancelled
	default:
	}
	b := l.book
	b.fire(now)
	join := l.dial
	if l.lines != nil {
		join = l.lines.join
	}
	for {
		i, ok := b.next(now)
		if !ok {
			break
		}
		if err := join(i, now); err != nil {
			return err
		}
	}
	if l.lines != nil {
		l.lines.tendAll()
	}
	if b.standing > 0 {
		b.alive = now
	}
	return l.broken
}

// Hope is an error when no subscriber has stood for so long that none will.
func (l *Loop) Hope() error {
	b, now := l.book, l.Now()
	patience := b.timeout + b.timeout/2
	if b.lastCause == Connect || b.lastCause == TLS || b.lastCause == HTTP2 { // it is not to be talked to
		patience = min(patience, refusedFor)
	}
	if now-b.alive <= patience && l.Expected() > 0 {
		return nil
	}
	switch none := l.Expected() == 0 && b.lastCause == numKinds; {
	case none && b.Ends > 0:
		return errors.New("no subscriber is left: the server ended all streams, and none was to come back")
	case none:
		return errors.New("the server wants no subscribers: it answered all with status 204")
	}
	return fmt.Errorf("no subscriber for %v: %s", time.Duration(now-b.alive).Round(time.Millisecond), b.cause())
}

// dial begins a subscriber's connection.
func (l *Loop) dial(i int32, now int64) error {
	s := &l.book.subs[i]
	fd, refused, err := l.connect(int(i), i, s.gen)
	if err != nil {
		return err
	}
	s.fd = int32(fd)
	if refused {
		l.book.lost(i, Connect, now)
	}
	return nil
}

// connect begins a connection, from the source address of an index, whose events
// carry id and gen. What the kernel refuses is an error of the connection; a lack of
// descriptors or ports ends the run.
func (l *Loop) connect(index int, id, gen int32) (fd int, refused bool, err error) {
	if fd, err = l.dialer.Socket(index); err != nil {
		return -1, false, err
	}
	if err = l.poll.Add(fd, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLRDHUP, id, gen); err == nil {
		err = unix.Connect(fd, l.dialer.To)
		switch {
		case err == nil || errors.Is(err, unix.EINPROGRESS):
			return fd, false, nil
		case !errors.Is(err, unix.EADDRNOTAVAIL):
			return fd, true, nil
		}
		err = fmt.Errorf("connect: %w: no port of the source address is left", err)
	}
	_ = unix.Close(fd)
	return -1, false, err
}

// event takes what the kernel says of a socket.
func (l *Loop) event(i int32, s *subscriber, flags uint32) {
	b := l.book
	if s.phase == connecting {
		if flags&(unix.EPOLLERR|unix.EPOLLHUP) != 0 {
			b.lost(i, Connect, l.Now())
			return
		}
		if flags&unix.EPOLLOUT == 0 {
			return
		}
		b.connected(i)
	}
	if flags&unix.EPOLLOUT != 0 && s.phase == asking && !l.write(i, s) {
		return
	}
	if flags&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		l.readable(i, s, flags, l.empty)
	}
}

// write sends what is left of the request, and reports whether the connection still
// is one.
func (l *Loop) write(i int32, s *subscriber) bool {
	b := l.book
	for {
		out := b.unsent(i)
		if len(out) == 0 {
			return true
		}
		n, errno := sock.Send(int(s.fd), out)
		switch errno {
		case 0:
			b.took(i, n)
			b.BytesOut += uint64(n)
		case unix.EAGAIN:
			return true
		case unix.EINTR:
		default:
			b.lost(i, Reset, l.Now())
			return false
		}
	}
}

// readable reads once from a socket that had nothing before since. One that may hold
// more has to wait for the others.
func (l *Loop) readable(i int32, s *subscriber, flags uint32, since int64) {
	b := l.book
	n, errno := sock.Receive(int(s.fd), l.buf)
	at := time.Now()
	now := int64(at.Sub(l.base))
	switch {
	case errno == unix.EAGAIN:
		return
	case errno == unix.EINTR:
	case errno != 0:
		b.lost(i, Reset, now)
		return
	case n == 0:
		b.eof(i, now)
		return
	default:
		b.BytesIn += uint64(n)
		b.rec.Lag(time.Duration(now - since))
		if !b.read(i, l.buf[:n], now, at.UnixNano()) {
			return
		}
		if n < len(l.buf) && flags&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) == 0 {
			return
		}
	}
	l.again = append(l.again, again{i, s.gen, flags, since})
}
