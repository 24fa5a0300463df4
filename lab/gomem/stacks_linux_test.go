package gomem

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// blocked says how many goroutines wait in which function, and what for.
var blocked = map[string]int{
	"main.waitMutex sync.Mutex.Lock":       3,
	"main.waitReaders sync.RWMutex.RLock":  2,
	"main.waitReceive chan receive":        4,
	"main.waitSend chan send":              5,
	"main.waitSelect select":               6,
	"main.waitSleep sleep":                 2,
	"main.waitNetwork IO wait":             3,
	"main.waitSyscall syscall":             2,
	"main.waitCond sync.Cond.Wait":         3,
	"main.waitGroup sync.WaitGroup.Wait":   2,
	"main.waitTimer chan receive":          1,
	"main.waitNil chan receive (nil chan)": 2,
	"main.waitNothing select (no cases)":   2,
	"main.waitGeneric[...] chan receive":   5,
	"main.(*job).waitMethod chan receive":  2,
	"main.startAll.func1.1 chan receive":   4,
	"main.inner chan receive":              3,
}

// innermost returns the first function of package main that a goroutine is in.
func innermost(g *Goroutine) string {
	if g.Stack == nil {
		return ""
	}
	for _, f := range g.Stack.Frames {
		if strings.HasPrefix(f.Func, "main.") {
			return f.Func
		}
	}
	return ""
}

// census counts goroutines by function and what they wait for.
func census(s Snapshot) map[string]int {
	n := map[string]int{}
	for i := range s.Goroutines {
		g := &s.Goroutines[i]
		if f := innermost(g); f != "" && f != "main.main" {
			why := g.Reason
			if g.State != "waiting" {
				why = g.State
			}
			n[f+" "+why]++
		}
	}
	return n
}

// settle takes snapshots until what they have is as wanted, for some seconds at most.
func settle(t *testing.T, p *Process, o SnapshotOptions, ok func(Snapshot) bool) Snapshot {
	t.Helper()
	for range 1000 {
		s, err := p.Goroutines(o)
		if err != nil {
			t.Fatal(err)
		}
		if ok(s) {
			return s
		}
		time.Sleep(10 * time.Millisecond)
	}
	s, err := p.Goroutines(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Each goroutine is where the program put it, in every build.
func TestGoroutines(t *testing.T) {
	for _, b := range builds {
		t.Run(b.name, func(t *testing.T) {
			x := start(t, build(t, "blocked", b.args, b.env))
			x.own("start")
			checkBlocked(t, x.open(), blocked)
		})
	}
}

func checkBlocked(t *testing.T, p *Process, want map[string]int) {
	t.Helper()
	s := settle(t, p, SnapshotOptions{}, func(s Snapshot) bool { return maps.Equal(census(s), want) && s.Moved == 0 })
	got := census(s)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%d in %s, want %d", got[name], name, want[name])
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("goroutines are\n%v", got)
	}
	for i := range s.Goroutines {
		g := &s.Goroutines[i]
		if g.Stack == nil || g.Stack.Cut || len(g.Stack.Frames) == 0 {
			t.Errorf("goroutine %d, %s in %s, has no whole stack: %+v", g.ID, g.State, g.Entry, g.Stack)
			continue
		}
		last := g.Stack.Frames[len(g.Stack.Frames)-1]
		if entry := strings.TrimSuffix(g.Entry, "-fm"); last.Func != entry && g.Entry != "runtime.main" {
			t.Errorf("goroutine %d began with %s, its stack ends in %s", g.ID, g.Entry, last.Func)
		}
		if g.ID == 1 && (g.Created != nil || last.Func != "runtime.main") {
			t.Errorf("the first goroutine is %+v", g)
		}
		if strings.HasPrefix(innermost(g), "main.wait") && (g.Created == nil || g.Created.Func != "main.start") {
			t.Errorf("%s was created by %+v", innermost(g), g.Created)
		}
	}
}

func lines(st *Stack) string {
	var b strings.Builder
	for _, f := range st.Frames {
		fmt.Fprintf(&b, "%s %s:%d %v\n", f.Func, f.File, f.Line, f.Inlined)
	}
	return b.String()
}
