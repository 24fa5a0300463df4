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
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/load/tlsclient"
	"github.com/redline-go/redline/lab/load/wire"
)

const (
	eventsPerPoll = 1024
	longestWait   = int64(20 * time.Millisecond) // between checks of the context
	refusedFor    = int64(2 * time.Second)       // without a standing subscriber if connections fail, until the run fails
)

// Options configure a Loop.
type Options struct {
	Config      spec.Subscribe
	Addr        string            // host:port of the server, numeric
	Request     []byte            // the complete head of the request, as sent
	Subscribers int               //
	Timeout     time.Duration     // for connecting, and for the head of the answer
	ConnectRate float64           // maximum of connections begun per second; 0: limited only by 256 at a time
	Sources     []netip.Addr      // see wire.Config
	Congestion  string            // TCP congestion control; empty leaves the default
	TLS         *tlsclient.Client // nil: in clear
	HTTP2       bool              // instead of HTTP/1.1; without TLS by prior knowledge (RFC 9113, section 3.3)
	Share       int               // of HTTP/2: subscribers that share a connection; 0: 1
}

// Loop runs subscribers. It belongs to one goroutine and its thread.
type Loop struct {
	book   *book
	dialer *wire.Dialer
	poll   *wire.Poller
	done   <-chan struct{}
	base   time.Time
	buf    []byte
	again  []again
	turn   []again      // the list being processed, swapped with again
	empty  int64        // when epoll last returned all ready sockets
	polled int64        // when what has been handled was ready
	thread tally.Thread // this one
	begun  int64        // beginning of the window
	lines  *lines       // nil: HTTP/1.1 in clear
	pubs   *publishers  // nil: none
	slow   *wire.Dialer // of slow subscribers; nil: there are none
	broken error        // error that ends the loop
}

// again is a socket that may hold more bytes after a read.
type again struct {
	index, gen int32
	flags      uint32
	since      int64 // last time at which it had nothing to read
}

// New returns a Loop without connections. The caller must close it.
func New(ctx context.Context, o *Options, rec Recorder) (*Loop, error) {
	b, err := newBook(o.Config, o.Subscribers, o.Request, o.Timeout, o.ConnectRate, rec)
	if err != nil {
		return nil, err
	}
	l := &Loop{book: b, done: ctx.Done(), base: time.Now(), buf: make([]byte, bufferSize)}
	if l.dialer, err = wire.NewDialer(wire.Config{
		Addr: o.Addr, Connections: o.connections(), Congestion: o.Congestion, Sources: o.Sources,
	}); err != nil {
		return nil, err
	}
	b.hangUp, b.resume, b.send = l.hangUp, l.resume, l.sendNow
	if o.Config.Slow != nil {
		if l.slow, err = wire.NewDialer(wire.Config{
			Addr: o.Addr, Connections: o.connections(), Congestion: o.Congestion, Sources: o.Sources,
			ReadBuffer: slowBuffer, SlowReaders: o.connections(),
		}); err != nil {
			return nil, err
		}
	}
	if o.TLS != nil || o.HTTP2 {
		if l.lines, err = newLines(l, o); err != nil {
			return nil, err
		}
	}
	if l.poll, err = wire.NewPoller(eventsPerPoll); err != nil {
		return nil, err
	}
	if o.Config.Publish != nil {
		if l.pubs, err = newPublishers(l, o); err != nil {
			return nil, errors.Join(err, l.poll.Close())
		}
	}
	return l, nil
}

// share returns the number of subscribers on a connection.
func (o *Options) share() int {
	if o.HTTP2 {
		return max(o.Share, 1)
	}
	return 1
}

// connections returns the maximum of connections, without those after GOAWAY.
func (o *Options) connections() int { return (o.Subscribers + o.share() - 1) / o.share() }

// Close closes all descriptors.
func (l *Loop) Close() error {
	if l.lines != nil {
		l.lines.closeAll()
	}
	for i := range l.book.subs {
		l.hangUp(int32(i))
	}
	if l.pubs != nil {
		l.pubs.closeAll()
	}
	return l.poll.Close()
}

// TLS returns the result of the handshakes since New; nil without TLS and HTTP/2.
func (l *Loop) TLS() (*spec.TLSResult, error) {
	if l.lines == nil {
		return nil, nil
	}
	return l.lines.common.Handshakes.Result()
}

// hangUp closes a subscriber's own socket, if any. close(2) on a socket frees the
// descriptor whatever it returns.
func (l *Loop) hangUp(i int32) {
	if s := &l.book.subs[i]; s.fd >= 0 {
		_ = unix.Close(int(s.fd))
		s.fd = -1
	}
}

// Now returns nanoseconds since New, monotonic.
func (l *Loop) Now() int64 { return int64(time.Since(l.base)) }

// Counts returns the counts since New. They belong to the loop.
func (l *Loop) Counts() *Counts { return &l.book.Counts }

// Standing returns the number of standing subscribers.
func (l *Loop) Standing() int { return l.book.standing }

// Expected returns the number of subscribers that have not retired.
func (l *Loop) Expected() int { return len(l.book.subs) - int(l.book.Retired) }

// Spun returns the nanoseconds spent in polls that found nothing.
func (l *Loop) Spun() int64 { return l.poll.Spun }

// Begin begins the window.
func (l *Loop) Begin() { l.begun, l.book.lowest = l.Now(), l.book.standing }

// Finish stores the state of the subscribers at the window's end in r.
func (l *Loop) Finish(r *spec.Subscribed) {
	b, now := l.book, l.Now()
	r.Subscribers, r.Standing, r.Lowest, r.Retired = len(b.subs), b.standing, b.lowest, b.Retired
	b.quiet(r, l.begun, now)
}

// Silences yields, for each standing subscriber, the nanoseconds since its last event.
func (l *Loop) Silences() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for _, silence := range l.book.silences(l.begun, l.Now()) {
			if !yield(silence) {
				return
			}
		}
	}
}

// Until runs the loop until time t of Now. It returns run.ErrCancelled if the context has
// ended.
func (l *Loop) Until(t int64) error {
	for {
		now := l.Now()
		if now >= t {
			return nil
		}
		l.awake(now)
		if err := l.upkeep(now); err != nil {
			return err
		}
		before := now
		l.polled = now
		until := min(l.book.wake(t), now+longestWait)
		if l.pubs != nil {
			until = min(until, l.pubs.wake())
		}
		all, asleep, err := l.poll.Wait(now, until, len(l.again) > 0)
		if err != nil {
			return err
		}
		if asleep { // nothing was ready until now, unless the thread was not woken
			now = l.Now()
			if l.thread.Slept(until, now); l.awake(now) == 0 {
				before = now
			}
			l.empty = before
		}
		for i := range l.poll.Events {
			ev := &l.poll.Events[i]
			if ev.Fd < 0 {
				l.pubs.event(ev.Fd, ev.Pad, ev.Events)
			} else if l.lines != nil {
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
		// Sockets that epoll did not return became ready after the call.
		if all {
			l.empty = before
		}
	}
}

// upkeep handles cancellation, timers and new connections.
func (l *Loop) upkeep(now int64) error {
	select {
	case <-l.done:
		return run.ErrCancelled
	default:
	}
	b := l.book
	// Not timers that have become due since: what has arrived is read before it counts as
	// missing, however late this thread is.
	b.fire(l.polled)
	b.churn(now)
	if l.pubs != nil {
		if err := l.pubs.tend(now); err != nil {
			return err
		}
	}
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

// dial begins the connection of a subscriber.
func (l *Loop) dial(i int32, now int64) error {
	s, by := &l.book.subs[i], l.dialer
	if s.slow {
		by = l.slow
	}
	fd, refused, err := l.connect(by, int(i), i, s.gen)
	if err != nil {
		return err
	}
	s.fd = int32(fd)
	if refused {
		l.book.lost(i, Connect, now)
	}
	return nil
}

// connect begins a connection of a dialer from the source address of an index; its events carry id and
// gen. refused reports a connection error. A lack of descriptors or ports is returned as an
// error, which ends the run.
func (l *Loop) connect(by *wire.Dialer, index int, id, gen int32) (fd int, refused bool, err error) {
	if fd, err = by.Socket(index); err != nil {
		return -1, false, err
	}
	if err = l.poll.Add(fd, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLRDHUP, id, gen); err == nil {
		err = unix.Connect(fd, by.To)
		switch {
		case err == nil || errors.Is(err, unix.EINPROGRESS):
			return fd, false, nil
		case !errors.Is(err, unix.EADDRNOTAVAIL):
			return fd, true, nil
		}
		err = fmt.Errorf("connect: %w: the source address has no free port; add addresses with --sources", err)
	}
	_ = unix.Close(fd)
	return -1, false, err
}

// event handles an epoll event of a socket.
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

// readable reads once from a socket that had nothing to read until since. If it may hold
// more, it is read again after the other sockets.
func (l *Loop) readable(i int32, s *subscriber, flags uint32, since int64) {
	b, buf := l.book, l.buf
	if s.slow && s.phase == standing {
		if buf = buf[:b.room()]; s.asleep || l.full(i, flags, len(buf)) {
			return
		}
	}
	n, errno := wire.Receive(int(s.fd), buf)
	at := time.Now()
	now := int64(at.Sub(l.base))
	l.awake(now)
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
		slow, events := s.slow, b.Events
		stays := b.read(i, buf[:n], now, at.UnixNano())
		if !slow {
			b.lag(time.Duration(now-since), events)
		}
		if !stays {
			return
		}
		if s.slow && s.phase == standing {
			b.rest(i, s, now)
			return
		}
		if n < len(l.buf) && flags&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) == 0 {
			return
		}
	}
	l.again = append(l.again, again{i, s.gen, flags, since})
}
