package lead

import (
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/clock"
)

const patience = 2 * time.Minute // of every wait; nothing is expected to take it

// A rig is a loop without I/O: its leader runs the functions of its inbox as
// foreign code.
type rig struct {
	t     *testing.T
	crew  *Crew
	role  *Role
	bell  *Bell
	inbox Inbox[func(h *Hand)]
	batch []func(h *Hand)
	at    int
	over  atomic.Bool

	leaders atomic.Int32 // goroutines that think they lead
	taken   []uint64     // what each leader has taken over from
	back    atomic.Int64 // functions whose hand has lost the loop
	ran     atomic.Int64
	exits   atomic.Int64 // hands that have ended in a function
}

// newRig returns a rig that is running. stop ends it.
func newRig(t *testing.T, takeover time.Duration) *rig {
	t.Helper()
	return newStrained(t, takeover, 0)
}

// newStrained returns a rig that bears few takeovers, and one more each recovery.
func newStrained(t *testing.T, takeover, recovery time.Duration) *rig {
	t.Helper()
	r := &rig{t: t, crew: NewCrew(takeover)}
	r.crew.recovery = int64(recovery)
	r.role = r.crew.Role(r.lead, func(*Hand) { r.exits.Add(1) })
	// A pipe that nobody writes to: only ringing wakes the leader.
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { writer.Close() })
	r.bell = &Bell{role: r.role, file: reader}
	r.role.bell = r.bell
	if r.bell.raw, err = reader.SyscallConn(); err != nil {
		t.Fatal(err)
	}
	if err := r.crew.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) put(f func(h *Hand)) {
	if !r.inbox.Put(f) {
		r.t.Error("the inbox is closed")
	}
	r.bell.Ring()
}

func (r *rig) lead(h *Hand) {
	r.taken = append(r.taken, h.Taken())
	if n := r.leaders.Add(1); n != 1 {
		r.t.Errorf("%d hands lead", n)
	}
	for {
		for r.at < len(r.batch) {
			f := r.batch[r.at]
			r.at++
			r.leaders.Add(-1)
			h.Begin()
			f(h)
			r.ran.Add(1)
			if !h.End() {
				r.back.Add(1)
				return
			}
			if n := r.leaders.Add(1); n != 1 {
				r.t.Errorf("%d hands lead", n)
			}
		}
		over := r.over.Load() // before Take: what was put before stop runs
		if r.batch, r.at = r.inbox.Take(r.batch), 0; len(r.batch) > 0 {
			continue
		}
		if over {
			r.inbox.Close()
			r.leaders.Add(-1)
			r.bell.Close()
			h.Done()
			return
		}
		idle := func() bool { return r.inbox.Empty() && !r.over.Load() }
		if _, err := r.bell.Wait(h, 0, func(uintptr) bool { return false }, idle); err != nil {
			r.t.Error(err)
		}
	}
}

func (r *rig) stop() {
	r.t.Helper()
	r.over.Store(true)
	r.bell.Ring()
	select {
	case <-r.crew.Stopped():
	case <-time.After(patience):
		r.t.Fatal("the crew does not stop")
	}
	r.crew.Wait()
}

func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			r.t.Fatalf("waited in vain until %s", what)
		}
	}
}

func TestTakeover(t *testing.T) {
	before := runtime.NumGoroutine()
	r := newRig(t, time.Millisecond)
	release := make(chan struct{})
	var others atomic.Int64
	for range 20 {
		r.put(func(h *Hand) {
			<-release
			if h.Leading() {
				t.Error("a hand that has blocked still leads")
			}
		})
		r.put(func(*Hand) { others.Add(1) })
	}
	r.until("the others have run", func() bool { return others.Load() == 20 })
	// A machine may be so slow that others are taken over too.
	if n := r.role.Stats.Takeovers.Load(); n < 20 {
		t.Errorf("%d takeovers, want 20", n)
	}
	close(release)
	r.until("all are back", func() bool { return r.back.Load() >= 20 })
	r.stop()
	r.until("goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}

// TestTaken wants each hand that has taken over to know from which call, and those to be
// within their call that have not been deposed.
func TestTaken(t *testing.T) {
	r := newRig(t, time.Millisecond)
	var mu sync.Mutex
	var calls []uint64 // of those that were deposed
	for range 5 {
		r.put(func(h *Hand) {
			call := h.Call() - 1
			mu.Lock()
			calls = append(calls, call)
			mu.Unlock()
			within := r.role.Within(call) // asked first: a hand may be deposed at any time
			if h.Leading() && !within {
				t.Error("a leader is not within its call")
			}
			for h.Leading() {
				time.Sleep(100 * time.Microsecond)
			}
			if r.role.Within(call) {
				t.Error("a hand that was deposed is within its call")
			}
		})
	}
	r.until("all are back", func() bool { return r.back.Load() == 5 })
	r.stop()
	slices.Sort(calls) // a hand may be deposed before it has noted its call
	if want := append([]uint64{0}, calls...); !slices.Equal(r.taken, want) {
		t.Errorf("hands have taken over from calls %d, want %d", r.taken, want)
	}
}

func TestDetach(t *testing.T) {
	r := newRig(t, time.Hour) // the watchdog stays out of it
	release := make(chan struct{})
	var others atomic.Int64
	for range 20 {
		r.put(func(h *Hand) {
			if !h.Detach() {
				t.Error("Detach reports that the hand did not lead")
			}
			if h.Detach() || h.Leading() {
				t.Error("a hand leads after Detach")
			}
			<-release
		})
		r.put(func(*Hand) { others.Add(1) })
	}
	r.until("the others have run", func() bool { return others.Load() == 20 })
	if n := r.role.Stats.Detached.Load(); n != 20 {
		t.Errorf("%d detached, want 20", n)
	}
	close(release)
	r.until("all are back", func() bool { return r.back.Load() == 20 })
	r.stop()
}

// TestRace lets functions return at about the time at which they are taken over: in both
// cases nothing runs twice, nothing is lost, and one hand leads.
func TestRace(t *testing.T) {
	r := newRig(t, 50*time.Microsecond)
	const n = 2000
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range n {
				r.put(func(h *Hand) {
					switch (i + g) % 5 {
					case 0:
						time.Sleep(time.Duration(i%150) * time.Microsecond)
					case 1:
						h.Detach()
					case 2:
						runtime.Gosched()
					case 3:
						useInput(t, h, byte(i))
						h.Release()
						time.Sleep(time.Duration(i%150) * time.Microsecond)
						return
					}
					useInput(t, h, byte(i))
				})
				if i%50 == 0 {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	wg.Wait()
	r.put(func(h *Hand) { // this one waits for it
		for h.Leading() {
			time.Sleep(100 * time.Microsecond)
		}
	})
	r.until("all have run", func() bool { return r.ran.Load() == 4*n+1 })
	r.stop()
	if r.role.Stats.Takeovers.Load() == 0 || r.role.Stats.Detached.Load() == 0 {
		t.Error("nothing was taken over")
	}
}

// TestRing wakes a leader that is about to wait, again and again.
func TestRing(t *testing.T) {
	r := newRig(t, time.Hour)
	for i := range int64(20000) {
		r.put(func(*Hand) {})
		if i%3 == 0 {
			r.until("it has run", func() bool { return r.ran.Load() > i })
		}
	}
	r.stop()
}

// TestDeadline has a leader wait for a time.
func TestDeadline(t *testing.T) {
	r := newRig(t, time.Hour)
	done := make(chan struct{})
	r.put(func(h *Hand) {
		defer close(done)
		for range 3 {
			until := clock.Refresh() + int64(2*time.Millisecond)
			now, err := r.bell.Wait(h, until, func(uintptr) bool { return false }, func() bool { return true })
			if err != nil || now < until {
				t.Errorf("Wait returns %v before its time, %v", time.Duration(until-now), err)
			}
		}
	})
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("Wait does not return")
	}
	r.stop()
}

func TestWatchdogSleeps(t *testing.T) {
	r := newRig(t, time.Millisecond)
	for range 3 {
		r.until("the watchdog sleeps", r.crew.asleep.Load)
		var over atomic.Bool
		r.put(func(h *Hand) {
			for end := time.Now().Add(patience); h.Leading() && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			if h.Leading() {
				t.Error("no watchdog is running")
			}
			over.Store(true)
		})
		r.until("it is over", over.Load)
	}
	r.stop()
}

func TestSignal(t *testing.T) {
	r := newRig(t, time.Millisecond)
	got := make(chan error, 1)
	r.put(func(h *Hand) {
		h.Detach()
		h.Readable.Prepare()
		h.Writable.Prepare()
		h.Writable.Send(os.ErrExist)
		h.Readable.Send(os.ErrClosed)
		got <- h.Readable.Wait()
		got <- h.Writable.Wait()
	})
	for _, want := range []error{os.ErrClosed, os.ErrExist} {
		if err := <-got; err != want {
			t.Errorf("Wait returns %v, want %v", err, want)
		}
	}
	r.stop()
}

func TestInput(t *testing.T) {
	r := newRig(t, time.Millisecond)
	done := make(chan struct{})
	r.put(func(h *Hand) {
		defer close(done)
		for want := minInput; want <= maxInput; want *= 2 {
			if n := len(h.Input()); n != want {
				t.Errorf("input has %d bytes, want %d", n, want)
			}
			h.Filled()
		}
		if h.Filled(); len(h.Input()) != maxInput {
			t.Errorf("input has %d bytes", len(h.Input()))
		}
	})
	<-done
	r.stop()
}

func TestInbox(t *testing.T) {
	var b Inbox[int]
	if !b.Empty() || !b.Put(1) || !b.Put(2) || b.Empty() {
		t.Error("a new inbox does not take messages")
	}
	got := b.Take(nil)
	if len(got) != 2 || got[0] != 1 || got[1] != 2 || !b.Empty() {
		t.Errorf("got %v", got)
	}
	b.Put(3)
	if left := b.Close(); len(left) != 1 || left[0] != 3 {
		t.Errorf("Close returns %v", left)
	}
	if b.Put(4) || !b.Empty() {
		t.Error("a closed inbox takes messages")
	}
}

// BenchmarkBeginEnd is what each call of foreign code pays.
func BenchmarkBeginEnd(b *testing.B) {
	h := &Hand{role: &Role{}, leading: true}
	for b.Loop() {
		h.Begin()
		if !h.End() {
			b.Fatal("deposed")
		}
	}
}

// BenchmarkDetach is a hand-over there and back.
func BenchmarkDetach(b *testing.B) {
	r := &rig{crew: NewCrew(time.Hour)}
	done := make(chan struct{})
	n := 0
	r.role = r.crew.Role(func(h *Hand) {
		if n++; n >= b.N {
			h.Done()
			close(done)
			return
		}
		h.Begin()
		h.Detach()
		h.End()
	}, nil)
	b.ResetTimer()
	if err := r.crew.Start(); err != nil {
		b.Fatal(err)
	}
	<-done
	r.crew.Wait()
}
