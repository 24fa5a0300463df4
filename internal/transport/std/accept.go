package std

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/transport"
)

const (
	acceptPause = 100 * time.Millisecond // after running out of descriptors
	drainGrace  = 20 * time.Millisecond  // time without a connection after which the backlog counts as empty
	drainMost   = time.Second            // maximum time for the backlog
)

// A listener is either the transport's own, or one that it was given and could not
// duplicate. The first party that closes it closes it; later closes have no effect.
type listener struct {
	net.Listener
	given bool
	of    net.Listener // the one that it duplicates, or nil
	why   error        // for which it was dropped; the transport's mu guards it
	makes func(transport.Conn) transport.Session
	once  sync.Once
	err   error
}

// Close implements [net.Listener].
func (l *listener) Close() error {
	l.once.Do(func() { l.err = l.Listener.Close() })
	return l.err
}

// wake ends its Accept without closing it, and reports whether that is possible.
func (l *listener) wake() bool { return l.until(clock.Past) }

// until sets the deadline of its Accept, and reports whether that is possible.
func (l *listener) until(t time.Time) bool {
	d, ok := l.Listener.(interface{ SetDeadline(time.Time) error })
	return ok && d.SetDeadline(t) == nil
}

// accept takes connections from a listener until it accepts no more. No code of sessions
// runs here: it could delay other connections.
func (t *Transport) accept(l *listener) {
	defer l.Close()
	draining := false
	for t.admit() {
		if draining {
			l.until(time.Now().Add(drainGrace)) // if it fails, Accept does
		}
		nc, err := l.Accept()
		if err == nil {
			t.accepted.Add(1)
			t.open(nc, l.makes)
			continue
		}
		t.leave()
		switch {
		case t.isHalted() && !draining && errors.Is(err, os.ErrDeadlineExceeded):
			draining = true // StopAccepting has woken it; there may be a backlog
		case t.ends(l, err):
			return
		default:
			t.refusals.Log(t.config.Log, time.Now(), "accept connection", err)
			t.refused.Add(1)
			t.sleep(acceptPause)
		}
	}
}

// ends reports whether an error of Accept is the last one, and makes Serve return if that
// was not requested. For a given listener, every error that does not call itself temporary
// is the last one, and ends Serve unchanged, as in net/http.
func (t *Transport) ends(l *listener, err error) bool {
	if t.isHalted() {
		return true
	}
	if l.given {
		var passing interface{ Temporary() bool }
		if errors.As(err, &passing) && passing.Temporary() {
			return false
		}
		t.fail(err)
		return true
	}
	if !final(err) {
		return false
	}
	err = fmt.Errorf("accept on %s: %w", l.Addr(), err)
	t.mu.Lock()
	if l.why != nil {
		err = l.why
	}
	t.live--
	last := t.live == 0
	t.mu.Unlock()
	if last {
		t.fail(err)
	} else if t.config.Log != nil {
		t.config.Log("listener accepts no more", err)
	}
	return true
}

// final reports whether a socket will never accept again: it is closed, or another of its
// owners has shut it down.
func final(err error) bool {
	for _, e := range []error{net.ErrClosed, syscall.EINVAL, syscall.EBADF, syscall.ENOTSOCK} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// fail makes Serve return an error. One is enough.
func (t *Transport) fail(err error) {
	select {
	case t.failed <- err:
	default:
	}
}

// admit waits until one more connection may be accepted, and reports false if none will be.
func (t *Transport) admit() bool {
	if t.stopped() {
		return false // for a listener whose Accept continues after Close, too
	}
	if t.slots != nil {
		select {
		case t.slots <- struct{}{}:
		default:
			t.refused.Add(1)
			select {
			case t.slots <- struct{}{}:
			case <-t.halt:
				return false
			}
		}
	}
	if wait := t.early(); wait > 0 {
		t.refused.Add(1)
		if !t.sleep(wait) {
			t.leave()
			return false
		}
	}
	return true
}

// early is how long a connection is too early for the accept rate, with bursts of up to a
// tenth of a second's worth.
func (t *Transport) early() time.Duration {
	if t.config.AcceptRate <= 0 {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if earliest := now.Add(-100 * time.Millisecond); t.next.Before(earliest) {
		t.next = earliest
	}
	t.next = t.next.Add(time.Second / time.Duration(t.config.AcceptRate))
	return t.next.Sub(now)
}

// sleep reports false if it has ended early because nothing more is accepted.
func (t *Transport) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-t.halt:
		return false
	}
}

// leave frees a connection's slot.
func (t *Transport) leave() {
	if t.slots != nil {
		<-t.slots
	}
}

// open starts a connection.
func (t *Transport) open(nc net.Conn, makes func(transport.Conn) transport.Session) {
	c := newConn(t, nc)
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		nc.Close()
		t.leave()
		return
	}
	t.conns[c] = struct{}{}
	t.mu.Unlock()
	go c.run(makes)
}

// forget uncounts a connection, once.
func (t *Transport) forget(c *conn) {
	t.mu.Lock()
	_, known := t.conns[c]
	delete(t.conns, c)
	t.mu.Unlock()
	if known {
		t.leave()
	}
}

// StopAccepting implements [transport.Transport]. It waits until the backlog is empty.
func (t *Transport) StopAccepting() {
	t.mu.Lock()
	first := t.halts()
	listeners, serving := t.listeners, t.serving
	t.mu.Unlock()
	if first {
		for _, l := range listeners {
			if !serving || !l.wake() {
				l.Close()
			}
		}
		// A listener that ignores its deadline, or whose backlog is never empty, must not
		// delay us.
		late := time.AfterFunc(drainMost, func() { closeAll(listeners) })
		defer late.Stop()
	}
	t.accepting.Wait()
}

// closeAll closes listeners that accept has not closed. Errors of closing do not matter.
func closeAll(listeners []*listener) {
	for _, l := range listeners {
		l.Close()
	}
}

func (t *Transport) isHalted() bool {
	select {
	case <-t.halt:
		return true
	default:
		return false
	}
}

// halts stops accepting, and reports whether that is new. t.mu is held.
func (t *Transport) halts() bool {
	if t.isHalted() {
		return false
	}
	close(t.halt)
	return true
}
