package tree

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/redline-go/redline/lab/profile"
	"github.com/redline-go/redline/lab/profile/frames"
	"github.com/redline-go/redline/lab/profile/profiletest"
)

const shop = `
main.main;main.order;encoding/json.Unmarshal;runtime.mallocgc 30
main.main;main.order;encoding/json.Unmarshal;reflect.Value.Set 10
main.main;main.order 20
main.main;main.again;main.again;main.again 15
main.main;syscall.write;k:ksys_write 20
main.main;k:asm_exc_page_fault 4
c:deflate 1
`

func read(t *testing.T, collapsed string) *Samples {
	t.Helper()
	p := profiletest.Of("cpu", "nanoseconds", collapsed)
	value, err := Pick(p, profile.CPU, "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Read(p, value, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFunctions(t *testing.T) {
	s := read(t, shop)
	if s.Total != 100 || s.Type != "cpu" || s.Unit != "nanoseconds" || s.Window.Seconds != 2 {
		t.Errorf("%+v", s)
	}
	var got []string
	list := s.Functions()
	for _, f := range list {
		got = append(got, fmt.Sprintf("%s %d/%d", f.Name, f.Flat, f.Cum))
	}
	want := []string{
		"runtime.mallocgc 30/30", "main.order 20/60", "ksys_write 20/20", "main.again 15/15", "reflect.Value.Set 10/10",
		"asm_exc_page_fault 4/4", "deflate 1/1", "main.main 0/99", "encoding/json.Unmarshal 0/40", "syscall.write 0/20",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if ByCum(list); list[0].Name != "main.main" || list[1].Name != "main.order" {
		t.Errorf("%v", list[:2])
	}
}

func TestClasses(t *testing.T) {
	var got []string
	for _, f := range read(t, shop).Classes() {
		got = append(got, fmt.Sprintf("%s %d/%d", f.Name, f.Flat, f.Cum))
	}
	want := []string{"user code 35/35", "alloc 30/30", "syscalls 20/20", "json 10/40", "kernel 4/4", "other libraries 1/1"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// text is a tree in lines, indented by depth.
func text(c *Calls) string {
	var b strings.Builder
	depth := make([]int, len(c.Nodes))
	for i, n := range c.Nodes {
		name := "all"
		if i > 0 {
			depth[i], name = depth[n.Parent]+1, c.Symbols[n.Symbol].Name
		}
		fmt.Fprintf(&b, "%s%s %d", strings.Repeat(" ", depth[i]), name, n.Total)
		if n.Before != 0 {
			fmt.Fprintf(&b, " was %d", n.Before)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestCalls(t *testing.T) {
	c := read(t, "a;b;c 5\na;b 3\na;d 9\ne 1\na;b;c 2\n").Calls()
	if got, want := text(c), "all 20\n a 19\n  b 10\n   c 7\n  d 9\n e 1\n"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := text(c.Largest(4)), "all 20\n a 19\n  b 10\n  d 9\n"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := c.Largest(100); got != c {
		t.Error("nothing is left out, and it is another tree")
	}
	for most := 1; most <= len(c.Nodes); most++ {
		if got := len(c.Largest(most).Nodes); got != most {
			t.Errorf("%d nodes, want %d", got, most)
		}
	}
}

func TestDiff(t *testing.T) {
	after, before := read(t, "a;b 5\na;new 3\n"), read(t, "a;b 2\na;gone 4\n")
	if got, want := text(after.Diff(before)), "all 8 was 6\n a 8 was 6\n  b 5 was 2\n  gone 0 was 4\n  new 3\n"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// Stacks that are too deep lose their innermost functions, and stacks that would be too large
// together are an error.
func TestReadHostile(t *testing.T) {
	s := read(t, strings.Repeat("main.f;", deepest+10)+"main.g 7\n")
	if s.Cut != 1 || len(s.Stacks[0]) != deepest || s.Total != 7 {
		t.Errorf("%d cut, %d frames", s.Cut, len(s.Stacks[0]))
	}
	p := profiletest.Of("cpu", "nanoseconds", strings.Repeat("f;", 2000)+"g 1\n")
	p.Sample = slices.Repeat(p.Sample, allFrames/2000+1)
	if _, err := Read(p, 1, ""); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("%v", err)
	}
	// Inlined functions without end at one place.
	p = profiletest.Of("cpu", "nanoseconds", "f 1\n")
	p.Location[0].Line = slices.Repeat(p.Location[0].Line, 1_000_000)
	if s, err := Read(p, 1, ""); err != nil || len(s.Stacks[0]) != deepest {
		t.Errorf("%v", err)
	}
}

func TestReadUnnamed(t *testing.T) {
	p := profiletest.Of("cpu", "nanoseconds", "a 1\nc:b 2\nmain.\x1b[31mred 3\n")
	p.Location[0].Line, p.Location[0].Mapping = nil, nil
	p.Location[1].Line = nil
	s, err := Read(p, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, symbol := range s.Symbols {
		names = append(names, symbol.Name)
	}
	if names[0] != fmt.Sprintf("%#x", p.Location[0].Address) || names[1] != "[libz.so.1]" || strings.Contains(names[2], "\x1b") {
		t.Errorf("%q", names)
	}
}

func TestPick(t *testing.T) {
	p := &pprof.Profile{}
	if _, err := Pick(p, "", ""); err == nil {
		t.Error("a profile without values")
	}
	for _, name := range []string{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"} {
		p.SampleType = append(p.SampleType, &pprof.ValueType{Type: name, Unit: "count"})
	}
	for _, c := range []struct {
		kind profile.Kind
		name string
		want int
	}{{"heap", "", 3}, {"allocs", "", 1}, {"heap", "alloc_objects", 0}, {"", "", 3}} {
		if got, err := Pick(p, c.kind, c.name); err != nil || got != c.want {
			t.Errorf("%+v: %d, %v", c, got, err)
		}
	}
	p.DefaultSampleType = "inuse_objects"
	if got, err := Pick(p, "", ""); err != nil || got != 2 {
		t.Errorf("%d, %v", got, err)
	}
	if _, err := Pick(p, "", "delay"); err == nil || !strings.Contains(err.Error(), "it has alloc_objects, alloc_space") {
		t.Errorf("%v", err)
	}
}

func TestModule(t *testing.T) {
	p := profiletest.Of("cpu", "nanoseconds", "example.org/shop.F 1\n")
	for module, want := range map[string]frames.Origin{"": frames.Library, "example.org/shop": frames.User} {
		if s, err := Read(p, 1, module); err != nil || s.Symbols[0].Origin != want {
			t.Errorf("%q: %v, %v", module, s.Symbols, err)
		}
	}
	profile.Window{Module: "example.org/shop", Requests: 4}.Mark(p)
	if s, err := Read(p, 1, ""); err != nil || s.Symbols[0].Origin != frames.User || s.PerRequest() != 0.25 {
		t.Errorf("%+v, %v", s, err)
	}
}
