package symbols

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestKernel(t *testing.T) {
	k, err := ReadKernel(strings.NewReader("ffffffff81000100 T second\nffffffff81000000 t first\n" +
		"ffffffff81000200 D data\nffffffffc0000000 t send\t[nf_tables]\nnonsense\nzz T x\n\n"))
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64]string{
		0xffffffff80ffffff: "", 0xffffffff81000000: "first", 0xffffffff810000ff: "first",
		0xffffffff81000150: "second", 0xffffffffc0000010: "send [nf_tables]",
	} {
		if got, _ := k.Lookup(addr); got != want {
			t.Errorf("%#x is %q, want %q", addr, got, want)
		}
	}
	if _, err := ReadKernel(strings.NewReader("0000000000000000 T a\n0000000000000000 t b\n")); !errors.Is(err, ErrHidden) {
		t.Errorf("hidden addresses: %v", err)
	}
	var none *Kernel
	if _, ok := none.Lookup(1); ok {
		t.Error("no kernel has a function")
	}
}

func TestMap(t *testing.T) {
	m, err := ReadMap(strings.NewReader("1000 10 first\n2000 20 JS:*hot /srv/app.js:1:13\n0x3000 8 prefixed\n" +
		"1000 8 replaced\nzz 10 x\n4000 0 empty\n5000\n6000 10 \n" + strings.Repeat("x", 20_000) + "\n7000 10 last\n8000 10 torn"))
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64]string{
		0x1007: "replaced", 0x1008: "", 0x201f: "JS:*hot /srv/app.js:1:13", 0x2020: "", 0x3000: "prefixed",
		0x4000: "", 0x6000: "", 0x7000: "last", 0x8001: "torn",
	} {
		if got, _ := m.Lookup(addr); got != want {
			t.Errorf("%#x is %q, want %q", addr, got, want)
		}
	}
}

// endless is a file that does not end: what is read of it is limited.
type endless struct {
	text string
	read int64
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], e.text)
	}
	e.read += int64(n)
	return n, nil
}

func TestEndless(t *testing.T) {
	for name, text := range map[string]string{"lines": "1000 10 f\n", "one line": "abc ", "empty lines": "\n"} {
		e := &endless{text: text}
		m, err := ReadMap(e)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if e.read > maxMap+maxLineBytes || len(m.list.entries) > maxMapLines {
			t.Errorf("%s: read %d bytes, kept %d entries", name, e.read, len(m.list.entries))
		}
	}
	if _, err := ReadMap(io.MultiReader(strings.NewReader("1 1 a\n"), &failing{})); err == nil {
		t.Error("an error of the reader is lost")
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("torn") }

func FuzzMap(f *testing.F) {
	f.Add("1000 10 first\n2000 20 second\n", uint64(0x1005))
	f.Add("ffffffffffffffff ffffffffffffffff x\n", ^uint64(0))
	f.Fuzz(func(t *testing.T, text string, addr uint64) {
		m, err := ReadMap(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		m.Lookup(addr)
		if k, err := ReadKernel(strings.NewReader(text)); err == nil {
			k.Lookup(addr)
		}
	})
}
