package stacks

import (
	"encoding/binary"

	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/profile/perfevent"
)

const maxWaits = 100_000 // threads that wait at the same time

// waits connects the moments at which threads began to wait with those at which they were
// woken.
type waits struct {
	leave, wake tracepoint
	open        map[int]wait
	threads     map[int]int  // numbers of threads in the first namespace to those in this one
	cut         int64        // waits that did not end in the window
	seen        map[int]bool // threads that blocked or were woken
	asleep      int          // threads that did neither, and sleep
}

type wait struct {
	at    place
	since uint64
	each  uint64 // waits that it stands for
}

func newWaits(leave, wake tracepoint) *waits {
	return &waits{leave: leave, wake: wake, open: map[int]wait{}, threads: map[int]int{}, seen: map[int]bool{}}
}

// states are the letters that ps(1) uses, by bit of the kernel's state of a task.
var states = []struct {
	bit    uint64
	letter byte
}{{0x02, 'D'}, {0x01, 'S'}, {0x04, 'T'}, {0x08, 'T'}, {0x40, 'P'}}

// left notes that a thread stopped running.
func (w *waits) left(r *perfevent.Record, at place, each uint64) {
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
	if len(w.threads) >= maxWaits {
		clear(w.threads) // threads come and go: those that wait now end when they run again
	}
	w.threads[int(number)] = r.TID
	w.open[r.TID] = wait{at, r.Time, each}
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
		s.samples.add(x.at, int64(x.each), int64((until-x.since)*x.each))
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
