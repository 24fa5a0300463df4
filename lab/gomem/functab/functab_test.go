package functab

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// ownTable is the table of the test itself. There is none on systems without ELF.
func ownTable(t testing.TB) ([]byte, uint64) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Skip("not an ELF binary:", err)
	}
	defer f.Close()
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab", ".data.rel.ro"} {
		if s := f.Section(name); s != nil {
			b, err := s.Data()
			if err != nil {
				t.Fatal(err)
			}
			if at := Search(b); at >= 0 {
				return b[at:], f.Section(".text").Addr
			}
		}
	}
	t.Fatal("no table")
	return nil, 0
}

func noData([]byte, uint64) error { return errors.New("none") }

// place returns the table with addresses of the file, and by how much the process has moved it.
func place(t testing.TB) (*Table, uint64) {
	t.Helper()
	data, text := ownTable(t)
	tab, err := New(data)
	if err != nil {
		t.Fatal(err)
	}
	tab.Place(text, 0, noData)
	pc, _, _, _ := runtime.Caller(0)
	f := runtime.FuncForPC(pc)
	bias, ok := uint64(0), false
	tab.Each(f.Name(), func(name string, fn Func) {
		if name == f.Name() {
			bias, ok = uint64(f.Entry())-fn.Entry, true
		}
	})
	if !ok {
		t.Fatalf("%s is not in the table", f.Name())
	}
	return tab, bias
}

// Functions are found by address, and have the entries that the runtime knows.
func TestFind(t *testing.T) {
	tab, bias := place(t)
	from, to := tab.Text()
	n := 0
	for pc := from; pc < to; {
		f, ok := tab.Find(pc)
		if !ok || f.End <= pc {
			t.Fatalf("%#x: %+v %v", pc, f, ok)
		}
		if r := runtime.FuncForPC(uintptr(f.Entry + bias)); r != nil && r.Name() != "" && Printed(f.Name()) != Printed(r.Name()) {
			t.Errorf("%#x is in %s, the runtime says %s", pc, f.Name(), r.Name())
		}
		if depth, ok := f.Depth(f.Entry); ok && depth != 0 {
			t.Errorf("%s begins with %d bytes on the stack", f.Name(), depth)
		}
		pc = f.End
		n++
	}
	if n < 1000 {
		t.Errorf("%d functions", n)
	}
	for _, pc := range []uint64{0, from - 1, to, ^uint64(0)} {
		if f, ok := tab.Find(pc); ok || tab.Frames(pc) != nil {
			t.Errorf("%#x is in %s", pc, f.Name())
		}
	}
}

func TestPrinted(t *testing.T) {
	for name, want := range map[string]string{
		"main.f": "main.f", "main.Map[go.shape.int]": "main.Map[...]", "main.(*T[go.shape.[]int]).Do.func1": "main.(*T[...]).Do.func1",
		"]a[": "]a[", "": "", "a[": "a[",
	} {
		if got := Printed(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// stack builds the memory of a stack of functions that are all at one instruction.
func stack(pc uint64, depth, calls int) []byte {
	mem := make([]byte, (depth+8)*calls+8)
	for i := range calls {
		binary.LittleEndian.PutUint64(mem[(depth+8)*i+depth:], pc)
	}
	return mem
}

// A stack is followed to its end, its limit, or the end of the bytes.
func TestUnwind(t *testing.T) {
	tab, bias := place(t)
	var pc, top, entry uint64
	depth := 0
	tab.Each("", func(name string, f Func) {
		if name == "runtime.goexit" {
			top = f.Entry + 1
		}
		if pc > 0 || f.Switches() || f.Top() || !strings.HasPrefix(name, "runtime.") {
			return
		}
		for at := f.Entry + 1; at < f.End && pc == 0; at++ { // since Go 1.27 the last bytes may be of no instruction
			if d, ok := f.Depth(at); ok && d > 0 && d%8 == 0 {
				pc, depth, entry = at, int(d), f.Entry+bias
			}
		}
	})
	if pc == 0 || top == 0 {
		t.Fatalf("a function with something on the stack is at %#x, the first of a stack at %#x", pc, top)
	}
	const base, calls = 0xc000_0000, 50
	pc, top = pc+bias, top+bias
	whole := stack(pc, depth, calls)
	binary.LittleEndian.PutUint64(whole[(depth+8)*(calls-1)+depth:], top)
	start := Start{PC: pc, SP: base, Lo: base - 4096, Hi: base + uint64(len(whole))}
	u := tab.Unwinder(bias, false)
	for _, c := range []struct {
		name       string
		from       Start
		mem        []byte
		limit, n   int
		cut, short bool
	}{
		{"whole", start, whole, 1000, calls, false, false},
		{"limit", start, whole, 10, 10, true, false},
		{"few bytes", start, whole[:(depth+8)*20], 1000, 21, true, true},
		{"no bytes", start, nil, 1000, 1, true, true},
		{"end of the stack", Start{PC: pc, SP: base, Lo: base, Hi: base + uint64(depth+8)*5}, whole, 1000, 6, true, false},
		{"no code", Start{PC: 16, SP: base, Lo: base, Hi: start.Hi}, whole, 1000, 0, true, false},
		{"no end", start, bytes.Repeat(binary.LittleEndian.AppendUint64(nil, pc), len(whole)/8), 1 << 20, (len(whole)-8)/(depth+8) + 1, true, false},
	} {
		pcs, cut, short := u.Unwind(c.from, c.mem, nil, c.limit)
		if len(pcs) != c.n || cut != c.cut || short != c.short || slices.ContainsFunc(pcs, func(p uint64) bool { return p != pc }) {
			t.Errorf("%s: %d functions, cut %v, short %v; want %d %v %v", c.name, len(pcs), cut, short, c.n, c.cut, c.short)
		}
	}
	// A machine with a link register: each function saves where to return to at the bottom of its frame.
	saved := make([]byte, depth*calls+8)
	for i := range calls {
		binary.LittleEndian.PutUint64(saved[depth*i:], pc)
	}
	binary.LittleEndian.PutUint64(saved[depth*(calls-1):], top)
	link := tab.Unwinder(bias, true)
	for lr, want := range map[uint64]int{0: calls, pc: calls} { // the register is of a function that has no frame
		pcs, cut, _ := link.Unwind(Start{PC: pc, SP: base, LR: lr, Lo: base, Hi: base + uint64(len(saved))}, saved, nil, 1000)
		if len(pcs) != want || cut {
			t.Errorf("with a link register %#x: %d functions, cut %v", lr, len(pcs), cut)
		}
	}
	if pcs, cut, _ := link.Unwind(Start{PC: entry, SP: base, LR: pc, Lo: base, Hi: base + uint64(len(saved))}, saved, nil, 1000); len(pcs) != calls+1 || cut || pcs[0] != entry+1 {
		t.Errorf("from the beginning of a function: %d functions, cut %v", len(pcs), cut)
	}
	for _, s := range []Start{{SP: 8, Lo: 16, Hi: 32}, {SP: 32, Lo: 16, Hi: 32}, {SP: 17, Lo: 16, Hi: 32}, {SP: 16, Lo: 16, Hi: 1 << 40}, {}} {
		if s.Sound() {
			t.Errorf("%+v is sound", s)
		}
	}
}

// examine reads everything of a table that may be damaged.
func examine(data []byte, read func([]byte, uint64) error, step uint64) int {
	tab, err := New(data)
	if err != nil {
		return 0
	}
	tab.Place(0x40_0000, 0x50_0000, read)
	n := 0
	from, to := tab.Text()
	u := tab.Unwinder(0, step%2 == 0)
	mem := bytes.Repeat(binary.LittleEndian.AppendUint64(nil, from+step), 512)
	for pc := from; pc < to && n < 200_000; pc += step {
		list := tab.Frames(pc)
		pcs, _, _ := u.Unwind(Start{PC: pc, SP: 4096, Lo: 4096, Hi: 8192}, mem, nil, 100)
		n += 1 + len(list) + len(tab.Expand(pcs[:min(len(pcs), 10)]))
		for _, f := range list {
			if len(f.Func) > maxName || len(f.File) > maxName || len(list) > maxInlined {
				panic("no limit")
			}
		}
	}
	return n
}

// A damaged table is an error or is read wrongly, and never more than that.
func TestDamaged(t *testing.T) {
	whole, _ := ownTable(t)
	random := rand.New(rand.NewPCG(5, 6))
	noise := func(p []byte, _ uint64) error {
		for i := range p {
			p[i] = byte(random.Uint32())
		}
		return nil
	}
	for i := range 30 {
		bad := bytes.Clone(whole)
		for range 1 + random.IntN(4096) {
			bad[8+random.IntN(len(bad)-8)] = byte(random.Uint32())
		}
		if i%2 == 0 { // the header is as it was
			copy(bad, whole[:header])
		}
		examine(bad, noise, 4099)
	}
	for size := len(whole); size > 0; size /= 2 {
		examine(whole[:size], noise, 8191)
	}
	if n := examine(whole, noise, 4099); n < 100 {
		t.Errorf("%d functions in the whole table", n)
	}
}

func FuzzTable(f *testing.F) {
	whole, _ := ownTable(f)
	f.Add([]byte{0, 0, 0, 0}, 8)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 64)
	f.Fuzz(func(_ *testing.T, patch []byte, at int) {
		bad := bytes.Clone(whole[:min(len(whole), 1<<20)])
		copy(bad[min(uint(at), uint(len(bad))):], patch)
		examine(bad, noData, 65_537)
	})
}
