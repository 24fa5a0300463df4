package gomem

import (
	"runtime"
	"testing"
)

// expanded returns the functions at an address as the runtime finds them.
func expanded(pc, last uintptr) []runtime.Frame {
	var list []runtime.Frame
	frames := runtime.CallersFrames([]uintptr{pc + 1, last + 1}) // the runtime expands all but the last
	for {
		f, more := frames.Next()
		if !more {
			return list
		}
		list = append(list, f)
	}
}

// The functions and lines are those that the runtime finds, everywhere in the code.
func TestTable(t *testing.T) {
	p := own(t)
	s, err := p.symbolize()
	if err != nil {
		t.Fatal(err)
	}
	last, _, _, _ := runtime.Caller(0)
	from, to := s.table.Text()
	compared, inlined := 0, 0
	first, _ := s.table.Find(from) // the runtime does not name it
	for pc := first.End; pc < to; pc += 101 {
		if f, ok := s.table.Find(pc); ok && f.End == pc+1 {
			continue // the runtime takes the address after it for the begin of the next function
		}
		got, want := s.table.Frames(pc), expanded(uintptr(pc+s.bias), last)
		if len(got) == 0 || got[0].Line == 0 {
			continue // between two functions
		}
		if len(want) == len(got)+1 {
			want = want[1:] // of a wrapper that was inlined
		}
		if len(got) != len(want) {
			t.Fatalf("%#x is in\n%+v, the runtime says\n%+v", pc, got, want)
		}
		for i, w := range want {
			g := got[i]
			if g.Func != w.Function || g.File != w.File || g.Line != w.Line || g.PC+s.bias != uint64(w.PC) {
				t.Fatalf("%#x is in %+v, the runtime says %+v", pc, g, w)
			}
		}
		compared++
		inlined += len(got) - 1
	}
	if compared < 5000 || inlined < 1000 {
		t.Errorf("%d addresses were compared, %d inlined", compared, inlined)
	}
}
