package stacks

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/profile/perfevent"
)

const (
	maxWaits = 100_000 // threads that wait at the same time
	trial    = 100 * time.Millisecond
)

// maxLeaves is how many stacks of threads that block are taken in a second, about.
var maxLeaves = 2_000.0

// waits connects the moments at which threads began to wait with those at which they were
// woken.
type waits struct {
	leave, wake tracepoint
	each        uint64 // of so many switches one is seen
	open        map[int]wait
	threads     map[int]int  // numbers of threads in the first namespace to those in this one
	ended       int64        // waits that began before the window or were not looked at
	cut         int64        // waits that did not end in the window
	seen        map[int]bool // threads that blocked or were woken
	asleep      int          // threads that did neither, and sleep
}

type wait struct {
	at    place
	since uint64
}

func newWaits(leave, wake tracepoint, each uint64) *waits {
	return &waits{leave: leave, wake: wake, each: each, open: map[int]wait{}, threads: map[int]int{}, seen: map[int]bool{}}
}

// states are the letters that ps(1) uses, by bit of the kernel's state of a task.
var states = []struct {
	bit    uint64
	letter byte
}{{0x02, 'D'}, {0x01, 'S'}, {0x04, 'T'}, {0x08, 'T'}, {0x40, 'P'}}

// left notes that a thread stopped running.
func (w *waits) left(s *session, r *perfevent.Record, at place) {
	w.saw(r.TID)
	number, ok1 := field(r.Raw, w.leave.fields["prev_pid"])
	state, ok2 := field(r.Raw, w.leave.fields["prev_state"])
	if !ok1 || !ok2 || state&0xff == 0 || state&0x30 != 0 || len(w.open) >= maxWaits {
		return // preempted, or ended
	}
	for _, x := range states {
		if state&x.bit != 0 {
			at.state = x.letter
			break
		}
	}
	const noLoad = 0x402 // TASK_UNINTERRUPTIBLE | TASK_NOLOAD: idle threads of the kernel
	if state&noLoad == noLoad {
		at.state = 'I'
	}
	w.threads[int(number)] = r.TID
	w.open[r.TID] = wait{at, r.Time}
}

// woken counts the wait that ends with a wake-up.
func (w *waits) woken(s *session, r *perfevent.Record) {
	number, ok := field(r.Raw, w.wake.fields["pid"])
	if !ok {
		return
	}
	if tid, ok := w.threads[int(number)]; ok {
		w.end(s, tid, r.Time)
	}
}

// returned counts the wait of a thread that runs, if its wake-up was not seen.
func (w *waits) returned(s *session, r *perfevent.Record) {
	w.saw(r.TID)
	w.end(s, r.TID, r.Time)
}

func (w *waits) end(s *session, tid int, at uint64) {
	if x, ok := w.open[tid]; ok && at >= x.since {
		delete(w.open, tid)
		w.count(s, x, at)
	}
}

func (w *waits) count(s *session, x wait, until uint64) {
	if until > x.since {
		s.samples.add(x.at, int64(w.each), int64((until-x.since)*w.each))
	}
}

// saw notes that a thread did not sleep all the time.
func (w *waits) saw(tid int) {
	if len(w.seen) < maxWaits {
		w.seen[tid] = true
	}
}

// finish counts the waits that last longer than the window, and the threads of which nothing was
// seen because they slept all the time.
func (w *waits) finish(s *session, now uint64) {
	for tid := range s.direct {
		if w.seen[tid] {
			continue
		}
		if st, err := procfs.Host.Stat(tid); err == nil && (st.State == 'S' || st.State == 'D') {
			w.asleep++
		}
	}
	w.cut = int64(len(w.open))
	for _, x := range w.open {
		w.count(s, x, now)
	}
	clear(w.open)
}

// field returns a field of a tracepoint as the number that it is.
func field(raw []byte, f fieldPlace) (uint64, bool) {
	if f.size == 0 || f.offset+f.size > len(raw) {
		return 0, false
	}
	p := raw[f.offset:]
	switch f.size {
	case 4:
		return uint64(binary.LittleEndian.Uint32(p)), true
	case 8:
		return binary.LittleEndian.Uint64(p), true
	}
	return 0, false
}

// thin measures how often the threads switch, and returns of how many switches one is looked at.
func (s *session) thin(ctx context.Context) (uint64, error) {
	before := s.switched()
	start := time.Now()
	select {
	case <-time.After(trial):
	case <-ctx.Done():
		return 0, fmt.Errorf("measure how often threads switch: %w", context.Cause(ctx))
	}
	after := s.switched()
	rate := float64(after-min(before, after)) / time.Since(start).Seconds()
	if rate <= maxLeaves {
		return 1, nil
	}
	each := uint64(rate/maxLeaves) + 1
	s.note("The threads blocked %.0f times a second before the window: one of %d waits was looked at, and counts %d times.", rate, each, each)
	return each, nil
}

// switched returns how often the threads have blocked since they started.
func (s *session) switched() uint64 {
	var sum uint64
	for pid := range s.processes {
		tids, err := procfs.Host.Threads(pid)
		if err != nil {
			continue
		}
		for _, tid := range tids {
			lines, err := procfs.Host.Lines("proc", fmt.Sprint(pid), "task", fmt.Sprint(tid), "status")
			if err == nil {
				sum += procfs.Number(lines, "voluntary_ctxt_switches")
			}
		}
	}
	return sum
}
