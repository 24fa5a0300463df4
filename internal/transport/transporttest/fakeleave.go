package transporttest

import (
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// fakeTakeover is the longest time after which a Feed of a Leaver is taken over.
const fakeTakeover = time.Millisecond

// A fakeFeed is one call of a Leaver's Feed. f.mu guards the fields that its goroutine and the
// one that drives share.
type fakeFeed struct {
	in       []byte
	out      buf.Queue // of the goroutine of Feed until it has returned or left
	n        int       // what Feed has returned
	err      error
	late     bool // to be taken over
	returned bool // or the goroutine has ended
	exited   bool // the latter
	left     bool
}

// feedLeaver runs Feed on a goroutine of its own, until it has returned or left.
func (f *Fake) feedLeaver(s transport.Leaver, in []byte) {
	w := &fakeFeed{in: in}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy, f.detached, f.fed, f.quiet = true, false, w, true
	if f.rng.IntN(4) == 0 {
		w.late = true
	} else {
		after := time.Duration(f.rng.Int64N(int64(fakeTakeover)))
		defer time.AfterFunc(after, func() { f.locked(func() { w.late = true }) }).Stop()
	}
	go f.run(s, w)
	asked := false
	for !w.returned && !w.left {
		if asked || !w.late || f.detached {
			f.cond.Wait()
			continue
		}
		asked, f.detached = true, true
		f.mu.Unlock()
		n, ok := s.Left(&w.out)
		f.mu.Lock()
		if ok {
			f.part(w, n)
		}
	}
	if w.left {
		return
	}
	f.fed = nil
	if w.exited {
		f.busy = false
		f.sever(transport.ErrExited)
		return
	}
	if !f.hijacked {
		f.consume(in, w.n)
	}
	f.returned(&w.out, w.err)
	w.out.Release()
}

// run is the goroutine of a Leaver's Feed.
func (f *Fake) run(s transport.Leaver, w *fakeFeed) {
	w.exited = true
	defer f.locked(func() {
		if w.returned = true; w.left && w.out.Len() > 0 {
			f.t.Errorf("Feed has %d bytes of output after it has left", w.out.Len())
		}
	})
	n, err := s.Feed(w.in, &w.out)
	w.n, w.err, w.exited = n, err, false
}

// Leave implements [transport.Conn].
func (f *Fake) Leave(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fed == nil {
		f.t.Errorf("Leave is called outside of Feed, again, or by a session that is no Leaver")
		return
	}
	f.part(f.fed, n)
	f.cond.Broadcast()
}

// part ends a Feed that leaves. f.mu is held.
func (f *Fake) part(w *fakeFeed, n int) {
	if w.left {
		f.t.Errorf("Left returns true for a Feed that has left by itself")
		return
	}
	w.left, f.fed = true, nil
	if len(f.gaveBack) > 0 && n < len(w.in) {
		f.t.Errorf("Feed leaves with %d of %d bytes consumed, and has given back others", n, len(w.in))
	}
	f.consume(w.in, n)
	if len(f.rest) > 0 {
		f.again = true
	}
	f.returned(&w.out, nil)
}
