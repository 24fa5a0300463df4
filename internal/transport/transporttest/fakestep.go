package transporttest

import (
	"bytes"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

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
	add(len(f.walks) > 0, f.walk)
	add(f.dueJob() >= 0, f.runJob)
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
	f.locked(func() { f.busy, f.detached, f.quiet = true, false, false })
	err = code(&out)
	f.locked(func() { f.returned(&out, err) })
	return err
}

// returned does what a transport does when a call of the session has returned. f.mu is held.
func (f *Fake) returned(out *buf.Queue, err error) {
	f.busy = false
	if f.hijacked {
		return
	}
	owed, n, atOnce := f.owed, out.Len(), f.quiet && f.pending.Len() == 0 && len(f.rest) == 0 && !f.stalled
	f.take(out)
	if atOnce && n > 0 && f.rng.IntN(2) == 0 {
		for f.pending.Len() > 0 && !f.reset {
			f.transmit(f.pending.Len())
		}
		f.owed = owed
	}
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

// drop discards pending output. f.mu is held.
func (f *Fake) drop() {
	f.pending.Reset()
	f.copied, f.files = nil, false
}

// feed delivers some of the input.
func (f *Fake) feed() {
	var in []byte
	leaver, leaves := f.session.(transport.Leaver)
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
	if leaves {
		f.feedLeaver(leaver, in)
		return
	}
	f.call(func(out *buf.Queue) error {
		n, err := f.session.Feed(in, out)
		f.locked(func() { f.consume(in, n); f.quiet = true })
		return err
	})
}

// consume notes how much of its input a Feed has consumed. f.mu is held.
func (f *Fake) consume(in []byte, n int) {
	if n < 0 || n > len(in) {
		f.t.Errorf("Feed consumes %d of %d bytes", n, len(in))
		n = len(in)
	}
	if f.in == nil && n < len(in) {
		f.t.Errorf("Feed consumes %d of %d bytes that it has released", n, len(in))
	}
	f.rest = bytes.Clone(in[n:])
	f.spoil()
}

// spoil overwrites the fed input, so that code that still uses a part of it is found.
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
