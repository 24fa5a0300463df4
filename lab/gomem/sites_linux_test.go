package gomem

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// sampleMap has the values of a profile by stack, of those that the program itself is in and that
// come from no profile being written.
func sampleMap(t *testing.T, p *profile.Profile) map[string][]int64 {
	t.Helper()
	m := map[string][]int64{}
	for _, s := range p.Sample {
		var b strings.Builder
		for _, l := range s.Location {
			for _, line := range l.Line {
				fmt.Fprintf(&b, "%s:%d ", line.Function.Name, line.Line)
			}
		}
		stack := b.String()
		if !strings.Contains(stack, "main.") || strings.Contains(stack, "runtime/pprof") {
			continue
		}
		if strings.HasPrefix(stack, "runtime.unlock:") {
			continue // the runtime waits for locks of its own at any time
		}
		fmt.Fprint(&b, s.NumLabel["bytes"])
		sum := m[b.String()]
		if sum == nil {
			sum = make([]int64, len(s.Value))
			m[b.String()] = sum
		}
		for i, v := range s.Value {
			sum[i] += v
		}
	}
	return m
}

// told has the target write a profile of itself.
func (x *target) told(kind string) *profile.Profile {
	x.t.Helper()
	path := filepath.Join(x.t.TempDir(), kind)
	x.own("profile", kind, path)
	f, err := os.Open(path)
	if err != nil {
		x.t.Fatal(err)
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		x.t.Fatal(err)
	}
	return p
}

// read reads a profile that the runtime keeps.
func read(t *testing.T, p *Process, kind SiteKind) *profile.Profile {
	t.Helper()
	s, err := p.Sites(kind)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Profile()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What is read is what runtime/pprof writes, value by value, in every build.
func TestSites(t *testing.T) {
	for _, b := range builds {
		t.Run(b.name, func(t *testing.T) {
			x := start(t, build(t, "blocked", b.args, b.env), "GOGC=off")
			x.own()
			checkSites(t, x, x.open())
		})
	}
}

func checkSites(t *testing.T, x *target, p *Process) {
	t.Helper()
	x.own("rates")
	for range 2 {
		x.own("allocate", 2000)
		x.own("collect", 3)
		for _, kind := range []SiteKind{HeapSites, BlockSites, MutexSites} {
			compareSites(t, kind, sampleMap(t, read(t, p, kind)), sampleMap(t, x.told(string(kind))))
		}
	}
}

// compareSites compares two readings of a profile at rest. Ticks were converted by two processes.
func compareSites(t *testing.T, kind SiteKind, got, want map[string][]int64) {
	t.Helper()
	if len(got) == 0 {
		t.Errorf("the %s profile is empty", kind)
	}
	near := func(a, b []int64) bool {
		return slices.EqualFunc(a, b, func(a, b int64) bool {
			return kind == HeapSites && a == b || kind != HeapSites && max(a, b)-min(a, b) <= max(a, b)/10
		})
	}
	for _, stack := range slices.Sorted(maps.Keys(want)) {
		if !near(got[stack], want[stack]) {
			t.Errorf("%s: %v, the process says %v: %s", kind, got[stack], want[stack], stack)
		}
	}
	for stack, values := range got {
		if want[stack] == nil {
			t.Errorf("%s: %v, the process does not have it: %s", kind, values, stack)
		}
	}
}

// flat returns a value of all samples whose innermost function is one of the program.
func flat(p *profile.Profile, function string, value int) int64 {
	sum := int64(0)
	for _, s := range p.Sample {
		if len(s.Location) > 0 && s.Location[0].Line[0].Function.Name == function {
			sum += s.Value[value]
		}
	}
	return sum
}

// A window has what was allocated in it, without a cycle of the collector.
func TestAllocated(t *testing.T) {
	x := start(t, build(t, "blocked", nil, nil), "GOGC=off", "GODEBUG=asynctimerchan=0,memprofilerate=1") // every allocation is a sample
	x.own("allocate", 1000)
	p := x.open()
	before, err := p.Sites(AllocSites)
	if err != nil {
		t.Fatal(err)
	}
	x.own("allocate", 20_000)
	after, err := p.Sites(AllocSites)
	if err != nil {
		t.Fatal(err)
	}
	out, err := after.Since(before)
	if err != nil {
		t.Fatal(err)
	}
	const want = 20_000 * 32 << 10
	if got := flat(out, "main.allocateDropped", 1); got != want || len(out.SampleType) != 2 {
		t.Errorf("%d bytes were allocated, want %d", got, want)
	}
	still, err := Allocated(t.Context(), p, time.Millisecond)
	if err != nil || flat(still, "main.allocateDropped", 0) != 0 {
		t.Errorf("without allocations: %v, %v", err, still)
	}
}

// A profile that the process does not keep is an error that says why.
func TestNoSites(t *testing.T) {
	for _, b := range builds[:3] {
		x := start(t, build(t, "blocked", b.args, b.env), "GODEBUG=memprofilerate=0")
		x.own()
		p := x.open()
		for _, c := range []struct {
			kind SiteKind
			is   error
			says string
		}{
			{HeapSites, ErrNoProfile, "runtime.MemProfileRate is 0"},
			{AllocSites, ErrNoProfile, "nothing in it calls runtime.MemProfile"},
			{BlockSites, ErrNoProfile, "has not called runtime.SetBlockProfileRate"},
			{MutexSites, ErrNoProfile, "has not called runtime.SetMutexProfileFraction"},
			{"soup", errors.ErrUnsupported, "no kind of profile"},
		} {
			if _, err := p.Sites(c.kind); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s of %s: %v", c.kind, b.name, err)
			}
		}
	}
}
