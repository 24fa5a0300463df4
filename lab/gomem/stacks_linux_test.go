package gomem

import (
	"fmt"
	"maps"
	"os"
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
	"main.waitTimer timer":                 1,
	"main.waitAfter timer":                 3,
	"main.waitTicker timer":                2,
	"main.waitEight timer":                 2,
	"main.waitNine select":                 2,
	"main.waitDone chan receive":           2,
	"main.waitSemaphore select":            4,
	"main.waitHandOver select":             2,
	"main.waitJob select":                  3,
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
			why := g.wait()
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

// text is a stack as a person reads it.
func text(st *Stack) string {
	var b strings.Builder
	for _, f := range st.Frames {
		fmt.Fprintf(&b, "%s %s:%d %v\n", f.Func, f.File, f.Line, f.Inlined)
	}
	return b.String()
}

// A stack has all its functions up to the depth that was asked for, and inlined ones too.
func TestDeepStacks(t *testing.T) {
	x := start(t, build(t, "blocked", nil, nil))
	const calls = 3000
	x.own("deep", calls)
	p := x.open()
	for _, c := range []struct {
		depth, want int
		cut         bool
	}{
		{maxDepth, calls + 1, false},
		{1000, 1000, true},
		{0, 128, true},
	} {
		find := func(s Snapshot) *Goroutine {
			for i := range s.Goroutines {
				if g := &s.Goroutines[i]; innermost(g) == "main.deep" {
					return g
				}
			}
			return nil
		}
		g := find(settle(t, p, SnapshotOptions{Depth: c.depth}, func(s Snapshot) bool { return find(s) != nil }))
		if g == nil {
			t.Fatal("no goroutine in main.deep")
		}
		n, of := 0, len(g.Stack.Frames)
		for _, f := range g.Stack.Frames {
			if f.Func == "main.deep" {
				n++
			}
		}
		if c.cut {
			n = of
		}
		if n != c.want || g.Stack.Cut != c.cut {
			t.Errorf("depth %d: %d of %d functions, cut: %v", c.depth, n, of, g.Stack.Cut)
		}
	}
}

// Inlined functions have frames of their own, with the lines of the calls.
func TestInlined(t *testing.T) {
	x := start(t, build(t, "blocked", nil, nil))
	x.own("start")
	s := settle(t, x.open(), SnapshotOptions{}, func(s Snapshot) bool { return census(s)["main.inner chan receive"] == 3 })
	source, err := os.ReadFile("testdata/blocked/main.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(source), "\n")
	want := []struct {
		name, line string
		inlined    bool
	}{
		{"main.inner", "func inner(c chan int) { <-c }", true},
		{"main.outer", "func outer(c chan int) { begun.Done(); inner(c) }", true},
		{"main.waitInlined", "func waitInlined() { outer(never) }", false},
	}
	for i := range s.Goroutines {
		g := &s.Goroutines[i]
		if innermost(g) != "main.inner" {
			continue
		}
		own := g.Stack.Frames[len(g.Stack.Frames)-len(want):]
		for k, f := range own {
			if f.Func != want[k].name || f.Line < 1 || lines[f.Line-1] != want[k].line || f.Start != f.Line || f.Inlined != want[k].inlined || !strings.HasSuffix(f.File, "/main.go") {
				t.Errorf("frame %d is %+v, want %+v", k, f, want[k])
			}
		}
	}
}

// Goroutines that have not run keep their stacks, also when there are many; those beyond the
// maximum are skipped evenly.
func TestManyStacks(t *testing.T) {
	x := start(t, build(t, "blocked", nil, nil))
	const n = 20_000
	x.own("spawn", n)
	p := x.open()
	all := SnapshotOptions{Max: maxSnapshot}
	s := settle(t, p, all, func(s Snapshot) bool { return census(s)["main.waitReceive chan receive"] == n })
	if census(s)["main.waitReceive chan receive"] != n || s.Walked != s.All {
		t.Errorf("goroutines are %v, %d of %d", census(s), s.Walked, s.All)
	}
	if s = settle(t, p, all, func(s Snapshot) bool { return s.Reused >= n }); s.Reused < n || len(p.syms.stacks) > 100 {
		t.Errorf("%d stacks are those of before; %d different ones", s.Reused, len(p.syms.stacks))
	}
	x.own("spawn", 100) // the array grows
	if s = settle(t, p, all, func(s Snapshot) bool { return s.Reused >= n+100 }); census(s)["main.waitReceive chan receive"] != n+100 {
		t.Errorf("goroutines are %v", census(s))
	}
	s = settle(t, p, SnapshotOptions{Max: 1000}, func(s Snapshot) bool { return s.Moved == 0 })
	if got := census(s)["main.waitReceive chan receive"]; s.Walked > 1000 || got < 900 || s.All < n {
		t.Errorf("%d of %d were looked at: %v", s.Walked, s.All, census(s))
	}
}

// Goroutines that run and end while they are read have whole stacks or none.
func TestChangingStacks(t *testing.T) {
	x := start(t, build(t, "target", nil, nil))
	x.own("busy", 2)
	p := x.open()
	cut, whole := 0, 0
	for range 300 {
		s, err := p.Goroutines(SnapshotOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Goroutines {
			switch g := &s.Goroutines[i]; {
			case g.Stack == nil:
			case g.Stack.Cut:
				cut++
				t.Logf("goroutine %d, %s %s, is cut:\n%s", g.ID, g.State, g.Reason, text(g.Stack))
			default:
				whole++
			}
		}
	}
	if whole < 300*50 || cut > whole/1000 {
		t.Errorf("%d whole stacks, %d cut", whole, cut)
	}
}
