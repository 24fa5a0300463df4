package gomem

import (
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// withoutTimers returns what the runtime says that goroutines wait for.
func withoutTimers(want map[string]int) map[string]int {
	out := maps.Clone(want)
	maps.DeleteFunc(out, func(name string, _ int) bool { return strings.HasSuffix(name, " "+WaitTimer) })
	for name, reason := range map[string]string{"waitTimer": "chan receive", "waitTicker": "chan receive", "waitAfter": "select", "waitEight": "select"} {
		out["main."+name+" "+reason] = want["main."+name+" "+WaitTimer]
	}
	return out
}

// A runtime that does not say which channels have timers is read without.
func TestUnknownTimers(t *testing.T) {
	x := start(t, build(t, "blocked", nil, nil))
	x.own("start")
	for _, field := range []string{"hchan.timer", "hchan.sendq.first", "sudog.c", "g.waiting"} {
		p := x.open()
		p.layout = maps.Clone(p.layout)
		delete(p.layout, field)
		checkBlocked(t, p, withoutTimers(blocked))
	}
}

// Goroutines that wait for a timer and for a channel in turn are never taken for the other.
func TestChangingTimers(t *testing.T) {
	x := start(t, build(t, "blocked", nil, nil))
	x.own("flip", 50)
	p := x.open()
	timed, other := 0, 0
	for range 20_000 {
		s, err := p.Goroutines(SnapshotOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Goroutines {
			g := &s.Goroutines[i]
			in := innermost(g)
			switch {
			case g.Timed && in == "main.flipTimer":
				timed++
			case g.Reason == "select" && in == "main.flipJob":
				other++
			}
			if g.Timed && in != "main.flipTimer" || !g.Timed && in == "main.flipTimer" && g.Reason == "select" {
				t.Errorf("goroutine %d, %s %s, Timed: %v, is in\n%s", g.ID, g.State, g.Reason, g.Timed, text(g.Stack))
			}
		}
		if timed > 1000 && other > 1000 || t.Failed() {
			break
		}
	}
	if timed == 0 || other == 0 {
		t.Errorf("%d goroutines waited for a timer, %d for a job", timed, other)
	}
}

// Lists of channels that make no sense end, and do not change what others are.
func TestHostileTimers(t *testing.T) {
	p := own(t)
	if !p.has(channelNames...) || !p.has(entryNames...) {
		t.Fatalf("%s lacks some of %v", runtime.Version(), slices.Concat(channelNames, entryNames))
	}
	pc, _, _, _ := runtime.Caller(0)
	const size = 64 // words of an object
	object := func(set map[string]uint64) uint64 {
		w := hold(make(words, size)...)
		for name, v := range set {
			w.put(0, p.layout[name], v)
		}
		return w.addr()
	}
	list := func(channels ...uint64) (first uint64) {
		for _, c := range channels {
			first = object(map[string]uint64{"sudog.c": c, "sudog.waitlink": first})
		}
		return first
	}
	timer, done := object(map[string]uint64{"hchan.timer": 8, "hchan.dataqsiz": 1, "hchan.elemsize": 24}), object(nil)
	ring := hold(make(words, size)...)
	ring.put(0, p.layout["sudog.c"], timer)
	ring.put(0, p.layout["sudog.waitlink"], ring.addr())
	cases := []struct {
		name  string
		list  uint64
		timed bool
	}{
		{"a timer", list(timer), true},
		{"a timer and a context", list(timer, done), true},
		{"two timers", list(timer, timer), true},
		{"no list", 0, false},
		{"a context", list(done), false},
		{"a queue", list(timer, object(map[string]uint64{"hchan.dataqsiz": 1})), false},
		{"values", list(timer, object(map[string]uint64{"hchan.elemsize": 8})), false},
		{"a sender", list(object(map[string]uint64{"hchan.sendq.first": 8}), timer), false},
		{"a list without an end", ring.addr(), false},
		{"a list at no address", 24, false},
		{"a list at the end of the addresses", ^uint64(0) - 16, false},
		{"no channel", list(0, timer), false},
		{"a channel at no address", list(timer, 24), false},
		{"a channel at the end of the addresses", list(timer, ^uint64(0)-16), false},
		{"the rest at no address", object(map[string]uint64{"sudog.c": timer, "sudog.waitlink": 16}), false},
	}
	stack := hold(make(words, 1024)...)
	array := make(words, len(cases))
	for i, c := range cases {
		array[i] = object(map[string]uint64{
			"g.goid": uint64(i + 1), "g.atomicstatus": gWaiting, "g.waitreason": uint64(slices.Index(p.reasons, "select")), "g.waiting": c.list,
			"g.stack.lo": stack.addr(), "g.stack.hi": stack.addr() + uint64(len(stack)*8), "g.sched.sp": stack.addr() + 512, "g.sched.pc": uint64(pc),
		})
	}
	p.vars[varAllgs] = hold(hold(array...).addr(), uint64(len(array)), uint64(len(array))).addr()
	s, err := p.Goroutines(SnapshotOptions{})
	if err != nil || len(s.Goroutines) != len(cases) {
		t.Fatalf("%d goroutines: %v", len(s.Goroutines), err)
	}
	for i := range s.Goroutines { // not in the order of the array
		g := &s.Goroutines[i]
		if c := cases[g.ID-1]; g.Timed != c.timed || g.Stack == nil || g.Reason != "select" {
			t.Errorf("%s: Timed is %v, want %v: %+v", c.name, g.Timed, c.timed, g)
		}
	}
}
