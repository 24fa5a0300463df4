package perfevent

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// pinned runs the test on one thread and one CPU, which it returns.
func pinned(t *testing.T) int {
	t.Helper()
	runtime.LockOSThread()
	var old, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &old); err != nil {
		t.Fatal(err)
	}
	cpu := 0
	for !old.IsSet(cpu) {
		cpu++
	}
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.SchedSetaffinity(0, &old); err != nil {
			t.Error(err)
		}
		runtime.UnlockOSThread()
	})
	return cpu
}

// open opens an event of this thread, or skips the test where it is forbidden.
func open(t *testing.T, c Config, cpu int) *Event {
	t.Helper()
	e, err := Open(c, unix.Gettid(), cpu)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
		t.Skip("perf_event_open is forbidden here: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// Two events share a ring, which wraps many times, and each record is whole.
func TestRing(t *testing.T) {
	cpu := pinned(t)
	c := Config{Type: Software, Event: CPUClock, Period: 100_000, Stack: true, Leaf: 64}
	first, second := open(t, c, cpu), open(t, c, cpu)
	ring, err := NewRing(first, 8*os.Getpagesize())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := ring.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := ring.Add(second); err != nil {
		t.Fatal(err)
	}
	for _, e := range []*Event{first, second} {
		if err := e.Enable(); err != nil {
			t.Fatal(err)
		}
	}
	counts, sum := map[uint64]int{}, 0
	for rounds := 0; counts[first.ID()] < 200 || counts[second.ID()] < 200; rounds++ {
		if rounds > 200_000 {
			t.Fatalf("records are %v", counts)
		}
		for i := range 20_000 {
			sum += i ^ sum
		}
		ring.Read(func(kind uint32, misc uint16, body []byte) {
			if kind != RecordSample {
				return
			}
			r, ok := Parse(kind, misc, body, func(uint64) (Config, bool) { return c, true })
			if !ok || r.TID != unix.Gettid() || len(r.User) == 0 || leafRegisters != 0 && (r.Leaf == nil || r.Leaf.IP != r.User[0]) {
				t.Fatalf("%+v, %v", r, ok)
			}
			counts[r.ID]++
		})
	}
	for _, e := range []*Event{first, second} {
		if err := e.Disable(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestErrors(t *testing.T) {
	cpu := pinned(t)
	if _, err := Open(Config{Type: Software, Event: CPUClock, Period: 1e6}, 1<<30, cpu); !errors.Is(err, unix.ESRCH) {
		t.Errorf("a task that never was: %v", err)
	}
	e := open(t, Config{Type: Software, Event: CPUClock, Period: 1e6}, cpu)
	if err := e.Filter("prev_pid == 1"); err == nil {
		t.Error("an event that is no tracepoint has a filter")
	}
	if err := e.Filter("a\x00b"); err == nil {
		t.Error("a filter with a zero byte is accepted")
	}
	if _, err := NewRing(e, 3*os.Getpagesize()); err == nil {
		t.Error("a ring of three pages is accepted")
	}
}
