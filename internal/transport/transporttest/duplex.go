package transporttest

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net"
	"sync"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

const (
	duplexSize = 8 << 20 // more than the buffers of both ends hold
	duplexPart = 100 << 10
	noWait     = math.MaxInt // of Flush
)

// A duplex is a connection that two goroutines share within Feed: one receives
// while the other sends. mu is held for every call.
type duplex struct {
	*session
	mu  sync.Mutex
	out *buf.Queue
}

// receive reads n bytes.
func (d *duplex) receive(n int) ([]byte, error) {
	p := make([]byte, n)
	for got := 0; got < n; {
		k, err := d.Read(p[got:min(n, got+duplexPart)], &d.mu)
		if err != nil {
			return p[:got], err
		}
		got += k
	}
	return p, nil
}

// transmit sends p in parts, of which one may wait. While it waits mu is kept, or
// not.
func (d *duplex) transmit(p []byte, keep bool) error {
	for len(p) > 0 {
		n := min(len(p), duplexPart)
		d.out.Ref(p[:n])
		p = p[n:]
		var l sync.Locker
		if !keep {
			l = &d.mu
		}
		if err := d.Flush(d.out, duplexPart, l); err != nil {
			return err
		}
		if n := d.Pending(); n > duplexPart {
			d.e.Errorf("%d bytes are pending when there is room", n)
		}
	}
	return nil
}

// duplexFeed returns a Feed in which two functions run at once, with mu held: the
// first one on the goroutine of Feed.
func duplexFeed(started chan<- *duplex, first, second func(d *duplex) error) func(*session, []byte, *buf.Queue) (int, error) {
	return func(s *session, in []byte, out *buf.Queue) (int, error) {
		d := &duplex{session: s, out: out}
		done := make(chan error, 1)
		d.mu.Lock()
		go func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			done <- second(d)
		}()
		if started != nil {
			started <- d
		}
		err := first(d)
		d.mu.Unlock()
		return len(in), errors.Join(err, <-done)
	}
}

// eitherWay runs a case with the reader on the goroutine of Feed, and with the
// writer there.
func eitherWay(e *env, read, write func(d *duplex) error, run func(c *client, d *duplex)) {
	e.Helper()
	started := make(chan *duplex, 1)
	for _, f := range [][2]func(d *duplex) error{{read, write}, {write, read}} {
		e.start(hooks{feed: duplexFeed(started, f[0], f[1])})
		c := e.dialWith(&net.Dialer{Control: small})
		c.send("x")
		select {
		case d := <-started:
			run(c, d)
			e.wait(d.gone, "the session is closed")
		case <-time.After(patience):
			e.Fatal("Feed is not called")
		}
		e.stop()
	}
}

// untilFull waits until one goroutine waits for room, and nobody holds mu.
func (d *duplex) untilFull(e *env) {
	e.Helper()
	e.until("Feed has more to send than the socket takes", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.Pending() > duplexPart && d.Detached()
	})
}

// duplexFlush has one goroutine wait for input while another flushes more than the
// socket takes, to a client that reads all and then sends.
func duplexFlush(e *env) {
	p := pattern(duplexSize)
	reading := make(chan struct{}, 2)
	eitherWay(e,
		func(d *duplex) error {
			reading <- struct{}{}
			got, err := d.receive(duplexPart)
			if !bytes.Equal(got, p[:duplexPart]) {
				e.Error("Read reads wrong bytes")
			}
			return errors.Join(err, d.Flush(d.out, noWait, &d.mu))
		},
		func(d *duplex) error {
			// A Flush that keeps mu: who reads has to wait already.
			d.mu.Unlock()
			<-reading
			d.mu.Lock()
			return d.transmit(p, true)
		},
		func(c *client, _ *duplex) {
			c.want(string(p))
			c.send(string(p[:duplexPart]))
			c.halfClose()
			c.wantEnd()
		})
}

// duplexBoth has the client send all before it reads any: the goroutine that waits
// for room must not hold up the other one.
func duplexBoth(e *env) {
	p := pattern(duplexSize)
	eitherWay(e,
		func(d *duplex) error {
			got, err := d.receive(duplexSize)
			if !bytes.Equal(got, p) {
				e.Errorf("Read reads wrong bytes, or %d only", len(got))
			}
			return err
		},
		func(d *duplex) error { return d.transmit(p, false) },
		func(c *client, _ *duplex) {
			c.send(string(p))
			c.want(string(p))
			c.halfClose()
			c.wantEnd()
		})
}

// duplexLeave has the client leave while both goroutines wait.
func duplexLeave(e *env) {
	for _, leave := range []func(c *client, d *duplex){
		func(c *client, _ *duplex) { c.Close() },
		func(c *client, _ *duplex) { c.reset() },
		func(_ *client, d *duplex) { d.Close(transport.Reset) },
		func(_ *client, d *duplex) { d.Close(transport.Abrupt) },
		func(_ *client, d *duplex) {
			go func() {
				if err := d.e.transport.Close(); err != nil {
					d.e.Error(err)
				}
			}()
		},
	} {
		errs := make(chan error, 2)
		note := func(err error) error { errs <- err; return err }
		eitherWay(e,
			func(d *duplex) error { _, err := d.receive(1); return note(err) },
			func(d *duplex) error { return note(d.transmit(pattern(duplexSize), false)) },
			func(c *client, d *duplex) {
				d.untilFull(e)
				leave(c, d)
				for range 2 {
					if err := e.receive(errs, "both waits end"); err != transport.ErrLost && err != io.EOF {
						e.Errorf("a wait ends with %v", err)
					}
				}
			})
	}
	// One that ends what it sends still reads.
	p := pattern(duplexSize)
	eitherWay(e,
		func(d *duplex) error {
			if _, err := d.receive(1); err != io.EOF {
				e.Errorf("Read returns %v, want the end", err)
			}
			return nil
		},
		func(d *duplex) error { return d.transmit(p, false) },
		func(c *client, d *duplex) {
			d.untilFull(e)
			c.halfClose()
			c.want(string(p))
			c.wantEnd()
		})
}

// duplexTimeout ends one wait or the other by its timeout, which is set before it
// begins, or by the other goroutine.
func duplexTimeout(e *env) {
	for _, late := range []bool{false, true} {
		inputTimeout(e, late)
		roomTimeout(e, late)
	}
}

// passes sets a timeout that passes soon, by f: at once, or late, when both goroutines
// wait.
func (d *duplex) passes(f func(time.Duration), late bool) {
	f(30 * time.Millisecond)
	if late {
		f(time.Hour)
		go func() {
			d.untilFull(d.e)
			d.mu.Lock()
			defer d.mu.Unlock()
			f(time.Millisecond)
		}()
	}
}

func inputTimeout(e *env, late bool) {
	p := pattern(duplexSize)
	input := make(chan error, 1)
	eitherWay(e,
		func(d *duplex) error {
			d.passes(d.SetTimeout, late)
			p := make([]byte, 4)
			_, err := d.Read(p, &d.mu)
			input <- err
			if _, err := d.Read(p, &d.mu); err != transport.ErrDeadline {
				e.Errorf("Read returns %v when the time is over", err)
			}
			d.SetTimeout(0)
			if _, err := d.receive(4); err != nil {
				e.Error(err)
			}
			return nil
		},
		func(d *duplex) error { return d.transmit(p, false) },
		func(c *client, _ *duplex) {
			if err := e.receive(input, "Read returns"); err != transport.ErrDeadline {
				e.Errorf("Read returns %v, want ErrDeadline", err)
			}
			c.send("late")
			c.want(string(p))
			c.halfClose()
			c.wantEnd()
		})
}

// roomTimeout wants what is pending to stay so, and the wait to go on when it may.
func roomTimeout(e *env, late bool) {
	p := pattern(duplexSize)
	room := make(chan error, 1)
	eitherWay(e,
		func(d *duplex) error {
			_, err := d.receive(4)
			return err
		},
		func(d *duplex) error {
			d.passes(d.SetWriteTimeout, late)
			d.out.Ref(p)
			err := d.Flush(d.out, duplexPart, &d.mu)
			if n := d.Pending(); n <= duplexPart {
				e.Errorf("%d bytes are pending after a deadline, want what was before", n)
			}
			if err := d.Flush(d.out, duplexPart, &d.mu); err != transport.ErrDeadline {
				e.Errorf("Flush returns %v when the time is over", err)
			}
			d.SetWriteTimeout(0)
			room <- err // the client reads from here on
			if err := d.Flush(d.out, duplexPart, &d.mu); err != nil {
				e.Errorf("Flush returns %v when it continues", err)
			}
			return nil
		},
		func(c *client, _ *duplex) {
			if err := e.receive(room, "Flush returns"); err != transport.ErrDeadline {
				e.Errorf("Flush returns %v, want ErrDeadline", err)
			}
			c.send("late") // the other goroutine still waits
			c.want(string(p))
			c.halfClose()
			c.wantEnd()
		})
}

// An echoing is a duplex of which one goroutine gives the other what it reads.
type echoing struct {
	size   int
	pieces chan []byte
}

func (x *echoing) read(d *duplex) error {
	defer close(x.pieces)
	for left := x.size; left > 0; {
		b := make([]byte, min(left, 20<<10))
		n, err := d.Read(b, &d.mu)
		if err != nil {
			return err
		}
		left -= n
		x.pieces <- b[:n]
	}
	return nil
}

func (x *echoing) write(d *duplex) error {
	for {
		d.mu.Unlock()
		b, ok := <-x.pieces
		d.mu.Lock()
		if !ok {
			return nil
		}
		if err := d.transmit(b, false); err != nil {
			return err
		}
	}
}

// duplexMany echoes on many connections, by a reader and a writer each that are
// taken over at all points.
func duplexMany(e *env) {
	const size = 1 << 20
	e.config.Takeover = 200 * time.Microsecond
	e.start(hooks{feed: func(s *session, in []byte, out *buf.Queue) (int, error) {
		x := &echoing{size: size - len(in[1:]), pieces: make(chan []byte, size)}
		x.pieces <- bytes.Clone(in[1:])
		if s.n%2 == 0 {
			return duplexFeed(nil, x.read, x.write)(s, in, out)
		}
		return duplexFeed(nil, x.write, x.read)(s, in, out)
	}})
	p := string(pattern(size))
	var wg sync.WaitGroup
	for i := range 12 {
		var d net.Dialer
		if i%3 == 0 {
			d.Control = small
		}
		c := e.dialWith(&d)
		wg.Go(func() {
			for range 2 {
				c.send("x")
				if i%4 != 0 {
					go c.send(p)
					c.want(p)
					continue
				}
				for rest := p; rest != ""; {
					n := min(len(rest), 30<<10)
					c.send(rest[:n])
					c.want(rest[:n])
					rest = rest[n:]
				}
			}
		})
	}
	wg.Wait()
}
