package symbols

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"testing"
)

// self opens this test's own binary.
func self(t testing.TB) *File {
	t.Helper()
	file, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
	f, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Problems(); err != nil {
		t.Error(err)
	}
	return f
}

// Names, files, lines and inlined calls are those that the runtime itself tells, all over the
// program.
func TestGoFrames(t *testing.T) {
	f := self(t)
	if !f.Go() || f.BuildID() == "" {
		t.Fatalf("Go: %v, build id %q", f.Go(), f.BuildID())
	}
	entry := reflect.ValueOf(TestGoFrames).Pointer()
	bias := uint64(entry) - f.addressOf(t, "github.com/redline-go/redline/lab/profile/symbols.TestGoFrames")
	compared, inlined := 0, 0
	for addr := f.golang.text; addr < f.golang.end; addr += 61 {
		pc := uintptr(addr + bias)
		if fn := runtime.FuncForPC(pc + 1); fn == nil || fn.Entry() == pc+1 {
			continue // what follows is another function
		}
		var want []string
		frames := runtime.CallersFrames([]uintptr{pc + 1})
		for more := true; more; {
			var x runtime.Frame
			if x, more = frames.Next(); x.Function != "" {
				want = append(want, fmt.Sprint(x.Function, " ", x.File, ":", x.Line))
			}
		}
		var got []string
		for _, x := range f.Lookup(addr) {
			got = append(got, fmt.Sprint(x.Name, " ", x.File, ":", x.Line))
		}
		if frames := f.Lookup(addr); len(frames) == 0 || frames[0].Line == 0 {
			continue // between two functions
		}
		// The runtime leaves out wrappers that call what is inlined into them.
		if len(want) > 0 && len(got) >= len(want) && !reflect.DeepEqual(got[:len(want)], want) || len(got) < len(want) {
			t.Errorf("%#x: %v, the runtime says %v", addr, got, want)
		}
		compared++
		if len(got) > 1 {
			inlined++
		}
	}
	if compared < 1000 || inlined < 100 {
		t.Errorf("compared %d addresses, %d of them inlined", compared, inlined)
	}
	if frames := f.Lookup(f.golang.end + 1<<20); len(frames) > 0 {
		t.Errorf("outside of the code is %v", frames)
	}
}

// addressOf returns the entry of a function of Go.
func (f *File) addressOf(t *testing.T, name string) uint64 {
	t.Helper()
	for i := range f.golang.funcs {
		addr := f.golang.text + uint64(f.golang.entry(i))
		if frames := f.golang.lookup(addr); len(frames) > 0 && frames[len(frames)-1].Name == name {
			return addr
		}
	}
	t.Fatalf("%s is not in the table", name)
	return 0
}

func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		self(b)
	}
}

func BenchmarkLookup(b *testing.B) {
	f := self(b)
	addr := f.golang.text
	for b.Loop() {
		f.Lookup(addr)
		if addr += 4099; addr >= f.golang.end {
			addr = f.golang.text
		}
	}
}

// A damaged table of functions gives wrong names or none, but no panic and no endless loop.
func TestDamagedTable(t *testing.T) {
	whole, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	f := self(t)
	from, ok := f.offset(f.golang.addr)
	if !ok {
		t.Fatal("the table is not in the file")
	}
	r := rand.New(rand.NewPCG(5, 6))
	p := bytes.Clone(whole)
	for round := range 40 {
		copy(p, whole)
		for range 1 << (round % 12) {
			p[from+r.Uint64N(uint64(len(f.golang.data)))] ^= byte(r.Uint32())
		}
		if round%2 == 0 { // the header's offsets
			binary.LittleEndian.PutUint64(p[from+8*r.Uint64N(9):], r.Uint64()>>r.UintN(64))
		}
		d, err := Open(bytes.NewReader(p))
		if err != nil || d.golang == nil {
			continue
		}
		for range 2000 {
			addr := f.golang.text + r.Uint64N(f.golang.end-f.golang.text)
			d.Lookup(addr)
			d.Depth(addr)
		}
	}
}

// Inline trees are where the version of the module has them, also if a file has no lengths but
// only relocations.
func TestGofunc(t *testing.T) {
	for name, c := range map[string]struct {
		fields map[uint64]uint64
		old    bool
	}{
		"1.18":             {map[uint64]uint64{296: 0x700000, 304: 1}, true},
		"1.20":             {map[uint64]uint64{296: 0x600000, 304: 0x680000, 312: 0x5f0000, 320: 1}, false},
		"1.27":             {map[uint64]uint64{296: 0x600000, 304: 0x70000, 312: 0x680000, 320: 0x70010, 328: 0x2000, 336: 0x5f0000, 344: 1}, false},
		"1.27, types low":  {map[uint64]uint64{296: 0x2000, 304: 0x70000, 312: 0x82000, 344: 1}, false},
		"1.27, relocated":  {map[uint64]uint64{296: 0x600000, 312: 0x680000, 336: 0x5f0000, 344: 1}, false},
		"1.20, other data": {map[uint64]uint64{296: 0x600000, 304: 0x680000, 312: 0x690000, 320: 1}, false},
	} {
		table := goTable{old: c.old}
		if got := table.gofuncOf(func(at uint64) uint64 { return c.fields[at] }); got != 1 {
			t.Errorf("%s: %#x", name, got)
		}
	}
}
