package scan

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// The runs, by name: what is exported, what it is checked against, and the
// class that defines it.
var runs = []struct {
	name     string
	run      func([]byte) int
	portable func([]byte) int
	in       func(byte) bool
	fill     byte
}{
	{"value", Value, valueGeneric, IsValue, 'v'},
	{"token", Token, tokenGeneric, IsToken, 't'},
	{"path", Path, pathGeneric, isPath, '/'},
	{"query", Query, queryGeneric, isQuery, '/'},
}

// TestClasses spells the classes out as the RFCs do, with nothing computed.
func TestClasses(t *testing.T) {
	const alnum = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	for i := range 256 {
		c := byte(i)
		token := strings.IndexByte("!#$%&'*+-.^_`|~"+alnum, c) >= 0 && c != 0
		value := c == '\t' || c == ' ' || c >= 0x21 && c <= 0x7e || c >= 0x80
		query := c >= 0x21 && c != 0x7f && c != '#'
		path := query && c < 0x7f && c != '%' && c != '?'
		if isPath(c) != path {
			t.Errorf("byte %#02x: path %v, want %v", c, isPath(c), path)
		}
		if IsToken(c) != token || IsValue(c) != value || isQuery(c) != query {
			t.Errorf("byte %#02x: token %v value %v query %v, want %v %v %v",
				c, IsToken(c), IsValue(c), isQuery(c), token, value, query)
		}
	}
}

// TestRunStopsAtEveryByte puts every byte at every position of runs of every
// length up to three registers.
func TestRunStopsAtEveryByte(t *testing.T) {
	for _, r := range runs {
		t.Run(r.name, func(t *testing.T) {
			for n := range 100 {
				b := bytes.Repeat([]byte{r.fill}, n)
				if got := r.run(b); got != n {
					t.Fatalf("length %d: %d", n, got)
				}
				for at := range n {
					for c := range 256 {
						b[at] = byte(c)
						want := n
						if !r.in(byte(c)) {
							want = at
						}
						if got := r.run(b); got != want {
							t.Fatalf("length %d, byte %#02x at %d: %d, want %d", n, c, at, got, want)
						}
						if got := r.portable(b); got != want {
							t.Fatalf("portable: length %d, byte %#02x at %d: %d, want %d", n, c, at, got, want)
						}
					}
					b[at] = r.fill
				}
			}
		})
	}
}

// checkFill compares Fill with a bit-by-bit reading of its contract.
func checkFill(t *testing.T, b []byte, from int) {
	t.Helper()
	var w, g Window
	for i := range w.Ctl {
		w.Ctl[i], w.Colon[i], g.Ctl[i], g.Colon[i] = 1, 2, 1, 2
	}
	n := w.Fill(b, from)
	if m := g.fillGeneric(b, from); m != n || w != g {
		t.Fatalf("%q from %d: %d bytes, portable %d\n%x\n%x", b, from, n, m, w, g)
	}
	want := min(len(b)-from, WindowBytes)
	for i := range want {
		c := b[from+i]
		if i >= n {
			break
		}
		if got := w.Ctl[i>>6]>>(i&63)&1 != 0; got == IsValue(c) {
			t.Fatalf("%q from %d: ctl bit %d of byte %#02x is %v", b, from, i, c, got)
		}
		if got := w.Colon[i>>6]>>(i&63)&1 != 0; got != (c == ':') {
			t.Fatalf("%q from %d: colon bit %d of byte %#02x is %v", b, from, i, c, got)
		}
		if i >= 3 && w.Ctl[i>>6]>>(i&63)&1 != 0 && n == want && i+65 < n &&
			!IsValue(b[from+i-1]) && !IsValue(b[from+i-2]) && !IsValue(b[from+i-3]) {
			t.Fatalf("%q from %d: did not stop behind the head's end at %d", b, from, i)
		}
	}
	if n < want && n&63 != 0 {
		t.Fatalf("%q from %d: stopped at %d, no multiple of 64", b, from, n)
	}
	if r := n & 63; r != 0 && (w.Ctl[n>>6]|w.Colon[n>>6])>>r != 0 {
		t.Fatalf("%q from %d: bits past the end", b, from)
	}
}

func TestFill(t *testing.T) {
	text := strings.Repeat("Name: value\r\n:\ttab\x7f\x80\xff\x00z", 60)
	for n := range 300 {
		for _, from := range []int{0, 1, 31, 32, 33, 63, 64, 65, n / 2, n - 1, n} {
			if from >= 0 && from <= n {
				checkFill(t, []byte(text[:n]), from)
			}
		}
	}
	for n := WindowBytes - 70; n < WindowBytes+70; n++ {
		for _, from := range []int{0, 1, 70} {
			checkFill(t, []byte(text[:n]), from)
		}
	}
}

// TestFillStops puts the end of a head at every offset of a long buffer.
func TestFillStops(t *testing.T) {
	for at := range 300 {
		b := bytes.Repeat([]byte("x"), 700)
		copy(b[at:], "\r\n\r\n")
		checkFill(t, b, 0)
		var w Window
		if n, want := w.Fill(b, 0), (at+4+63)&^63; n != want {
			t.Fatalf("head ends at %d: filled %d, want %d", at+4, n, want)
		}
	}
}

func TestFillRefusesBadStart(t *testing.T) {
	for _, from := range []int{-1, 101} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("from %d of 100: no panic", from)
				}
			}()
			new(Window).Fill(make([]byte, 100), from)
		}()
	}
}

func TestRandomAgainstPortable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	alphabet := []byte("aZ0-:: \t\r\n\r\n\r\n\x00\x1f\x7f\x80\xff#?%/")
	for range 20000 {
		b := make([]byte, rng.IntN(1400))
		dirty := rng.IntN(100)
		for i := range b {
			b[i] = 'a'
			if rng.IntN(100) < dirty {
				b[i] = alphabet[rng.IntN(len(alphabet))]
			}
		}
		checkFill(t, b, rng.IntN(len(b)+1))
		for _, r := range runs {
			if got, want := r.run(b), r.portable(b); got != want {
				t.Fatalf("%s of %q: %d, want %d", r.name, b, got, want)
			}
		}
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte("Host: example.org\r\nAccept: */*\r\n\r\n"), 0)
	f.Add([]byte(strings.Repeat("a", 64)+"\r\n\r\n"+strings.Repeat("\xff", 64)), 3)
	f.Add([]byte(strings.Repeat("\r\n", 600)), 65)
	f.Add([]byte("/path?query#fragment with space and more than a register of bytes"), 33)
	f.Fuzz(func(t *testing.T, b []byte, from int) {
		checkFill(t, b, int(uint(from)%uint(len(b)+1)))
		for _, r := range runs {
			if got, want := r.run(b), r.portable(b); got != want {
				t.Fatalf("%s of %q: %d, want %d", r.name, b, got, want)
			}
		}
	})
}

func BenchmarkRuns(b *testing.B) {
	for _, size := range []int{8, 32, 100, 1000} {
		for _, r := range runs {
			in := bytes.Repeat([]byte{r.fill}, size)
			b.Run(r.name+"/"+strconv.Itoa(size), func(b *testing.B) {
				for b.Loop() {
					r.run(in)
				}
			})
		}
		in := bytes.Repeat([]byte("x"), size)
		var w Window
		b.Run("fill/"+strconv.Itoa(size), func(b *testing.B) {
			for b.Loop() {
				w.Fill(in, 0)
			}
		})
	}
}
