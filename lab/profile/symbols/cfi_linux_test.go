package symbols

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// compiledC compiles functions of several kinds without frame pointers.
func compiledC(t *testing.T) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler: ", err)
	}
	dir := t.TempDir()
	source, path := filepath.Join(dir, "x.c"), filepath.Join(dir, "x")
	const text = `#include <alloca.h>
#include <string.h>
volatile long sink;
__attribute__((noinline)) long leaf(long x) { return x * sink; }
__attribute__((noinline)) long many(long a, long b, long c) {
	long u = leaf(a), v = leaf(b), w = leaf(c), x = leaf(u + v), y = leaf(v + w);
	return leaf(u) + leaf(v) + leaf(w) + leaf(x) + leaf(y) + a + b + c;
}
__attribute__((noinline)) long large(void) { char p[5000]; memset(p, sink, sizeof p); sink += p[17]; return leaf(p[4]); }
__attribute__((noinline)) long dynamic(long n) { char *p = alloca(n); memset(p, 1, n); sink += p[n / 2]; return leaf(n); }
int main(int n, char **v) { return many(n, 2, 3) + large() + dynamic(n * 100); }
`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-O2", "-fomit-frame-pointer", "-o", path, source).CombinedOutput(); err != nil {
		t.Fatalf("compile: %v\n%s", err, out)
	}
	return path
}

var row = regexp.MustCompile(`^([0-9a-f]{16}) (\S+)\s+(.*)$`)

// The steps are those that readelf prints, at each address where one begins.
func TestStep(t *testing.T) {
	path := compiledC(t)
	out, err := exec.Command("readelf", "--debug-dump=frames-interp", path).Output()
	if err != nil {
		t.Skip("there is no readelf that prints tables of frames: ", err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	f, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := f.Step(f.loads[0].addr); ok || f.frames == nil {
		t.Skip("the tables of this machine are not followed")
	}
	compared, columns, described := 0, []string(nil), false
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		switch {
		case strings.Contains(line, " FDE "):
			described = true
		case strings.Contains(line, " CIE "):
			described = false
		case len(words) > 1 && words[0] == "LOC":
			columns = words[2:]
		}
		m := row.FindStringSubmatch(strings.TrimRight(line, " \n"))
		if m == nil || !described || m[2] == "exp" || strings.Contains(line, "FDE") {
			continue
		}
		addr, err := strconv.ParseUint(m[1], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		register, offset, _ := strings.Cut(m[2], "+")
		want := Step{FromBP: register == "rbp"}
		want.CFA, _ = strconv.ParseInt(offset, 10, 64)
		known := false
		for i, x := range strings.Fields(m[3]) {
			n, err := strconv.ParseInt(strings.TrimPrefix(x, "c"), 10, 64)
			switch {
			case columns[i] == "ra" && err == nil:
				want.Return, known = n, true
			case columns[i] == "rbp" && err == nil:
				want.BP, want.Saved = n, true
			}
		}
		got, ok := f.Step(addr)
		if ok != known || ok && got != want {
			t.Errorf("%#x: %+v, %v; readelf says %q", addr, got, ok, strings.TrimSpace(line))
		}
		if outer := f.Outermost(addr); outer == known {
			t.Errorf("%#x: outermost is %v", addr, outer)
		}
		compared++
	}
	if compared < 10 {
		t.Errorf("compared %d places with readelf", compared)
	}
}

// A compiled file whose tables are damaged neither loops nor panics.
func TestDamaged(t *testing.T) {
	whole, err := os.ReadFile(compiledC(t))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	s, ok := f.section(".eh_frame")
	if !ok {
		t.Skip("this compiler writes no .eh_frame")
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		p := bytes.Clone(whole)
		for range 8 {
			p[s.off+r.Uint64N(s.size)] = byte(r.Uint32())
			p[r.IntN(len(p))] ^= 1 << r.IntN(8)
		}
		d, err := Open(bytes.NewReader(p))
		if err != nil {
			continue
		}
		for _, fn := range d.funcs {
			for addr := fn.addr; addr < fn.addr+32; addr += 5 {
				d.Step(addr)
				d.Lookup(addr)
			}
		}
	}
}
