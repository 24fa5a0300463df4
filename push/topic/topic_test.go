package topic

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	long := strings.Repeat("x", MaxLen)
	deep := strings.Repeat("a/", MaxSegments-1) + "a"
	for _, c := range []struct {
		text          string
		name, pattern bool
	}{
		{"orders", true, true},
		{"orders/eu/17", true, true},
		{"https://example.com/books/1", true, true},
		{"a//b/", true, true},
		{"/", true, true},
		{"größe", true, true},
		{"a*b/**c", true, true},
		{long, true, true},
		{deep, true, true},
		{"*", false, true},
		{"**", false, true},
		{"a/*/b", false, true},
		{"*/*/**", false, true},
		{"a/**/b", false, false},
		{"**/**", false, false},
		{"**/a", false, false},
		{"", false, false},
		{long + "x", false, false},
		{deep + "/a", false, false},
		{"a\nb", false, false},
		{"a\x00", false, false},
		{"a\x7f", false, false},
		{"a\u0085b", false, false},
		{"a\u2028b", false, false},
		{"a\xffb", false, false},
	} {
		if err := CheckName(c.text); (err == nil) != c.name {
			t.Errorf("name %.40q: %v", c.text, err)
		}
		if err := CheckPattern(c.text); (err == nil) != c.pattern {
			t.Errorf("pattern %.40q: %v", c.text, err)
		}
	}
}

func TestJoin(t *testing.T) {
	for _, c := range []struct {
		segments []string
		want     string // "": refused
	}{
		{[]string{"users", "alice"}, "users/alice"},
		{[]string{"news"}, "news"},
		{[]string{"users", "a*", "**b"}, "users/a*/**b"},
		{[]string{"users", "größe"}, "users/größe"},
		{nil, ""},
		{[]string{""}, ""},
		{[]string{"users", ""}, ""},
		{[]string{"", "users"}, ""},
		{[]string{"users", "*"}, ""},
		{[]string{"users", "**"}, ""},
		{[]string{"users", "a/b"}, ""},
		{[]string{"users", "/"}, ""},
		{[]string{"users", "a/*"}, ""},
		{[]string{"users", "a\n"}, ""},
		{[]string{"users", "\xff"}, ""},
		{[]string{"users", strings.Repeat("x", MaxLen)}, ""},
		{slices.Repeat([]string{"x"}, MaxSegments+1), ""},
	} {
		got, err := Join(c.segments...)
		var why *Error
		if got != c.want || (err == nil) != (c.want != "") || err != nil && !errors.As(err, &why) {
			t.Errorf("Join(%.40q) = %q, %v", c.segments, got, err)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true},
		{"a", "b", false},
		{"a", "a/b", false},
		{"a/b", "a", false},
		{"*", "a", true},
		{"*", "a/b", false},
		{"a/*", "a/b", true},
		{"a/*", "a", false},
		{"a/*", "a/", true},
		{"a/*/c", "a/b/c", true},
		{"a/*/c", "a/b/d", false},
		{"a/**", "a", true},
		{"a/**", "a/b/c", true},
		{"a/**", "ab", false},
		{"**", "a/b", true},
		{"*/**", "a", true},
		{"a/*/**", "a", false},
		{"a/*/**", "a/b", true},
	} {
		if got := Match(c.pattern, c.name); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.pattern, c.name, got)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		pattern, other string
		want           bool
	}{
		{"a", "a", true},
		{"a", "*", false},
		{"*", "a", true},
		{"*", "*", true},
		{"*", "**", false},
		{"**", "**", true},
		{"**", "a/*", true},
		{"a/**", "a", true},
		{"a/**", "a/**", true},
		{"a/**", "a/*/**", true},
		{"a/*/**", "a/**", false},
		{"a/*", "a/b", true},
		{"a/*", "a/b/c", false},
		{"a/*", "b/*", false},
		{"a/b", "a/*", false},
	} {
		if got := Covers(c.pattern, c.other); got != c.want {
			t.Errorf("Covers(%q, %q) = %v", c.pattern, c.other, got)
		}
	}
}

// random returns a text of up to four segments from a small set, so that texts meet.
func random(r *rand.Rand, pattern bool) string {
	segments := make([]string, 1+r.IntN(4))
	for i := range segments {
		segments[i] = string("abc"[r.IntN(3)])
		if pattern && r.IntN(3) == 0 {
			segments[i] = one
		}
	}
	if pattern && r.IntN(4) == 0 {
		segments[len(segments)-1] = rest
	}
	return strings.Join(segments, "/")
}

// TestTree compares the tree with a map and Match, while texts come and leave.
func TestTree(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		var patterns, names Tree[string]
		hold, held := map[string]bool{}, map[string]bool{}
		for range 300 {
			turn(r, &patterns, hold, true)
			turn(r, &names, held, false)
			name, pattern := random(r, false), random(r, true)
			compare(t, "patterns of "+name, patterns.Match(nil, name), hold, func(p string) bool { return Match(p, name) })
			compare(t, "names of "+pattern, names.Select(nil, pattern), held, func(n string) bool { return Match(pattern, n) })
			if patterns.Len() != len(hold) || names.Len() != len(held) {
				t.Fatalf("seed %d: sizes %d and %d, want %d and %d", seed, patterns.Len(), names.Len(), len(hold), len(held))
			}
		}
		for p := range hold {
			if v := patterns.Get(p); v == nil || *v != p {
				t.Fatalf("seed %d: %q is not found", seed, p)
			}
			patterns.Delete(p)
		}
		if !patterns.root.empty() {
			t.Fatalf("seed %d: an emptied tree has nodes", seed)
		}
	}
}

func turn(r *rand.Rand, tree *Tree[string], hold map[string]bool, pattern bool) {
	text := random(r, pattern)
	if hold[text] || r.IntN(4) == 0 {
		tree.Delete(text)
		delete(hold, text)
		return
	}
	tree.Put(text, &text)
	hold[text] = true
}

func compare(t *testing.T, what string, found []*string, hold map[string]bool, match func(string) bool) {
	t.Helper()
	var got, want []string
	for _, p := range found {
		got = append(got, *p)
	}
	for text := range hold {
		if match(text) {
			want = append(want, text)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("%s: got %q, want %q", what, got, want)
	}
}

// TestMatchAllocates: a publish finds its subscribers without memory.
func TestMatchAllocates(t *testing.T) {
	var tree Tree[string]
	for i := range 1000 {
		text := "orders/" + strconv.Itoa(i)
		tree.Put(text, &text)
	}
	for _, text := range []string{"orders/*", "**", "*/17"} {
		tree.Put(text, &text)
	}
	dst := make([]*string, 0, 8)
	if n := testing.AllocsPerRun(100, func() {
		if dst = tree.Match(dst[:0], "orders/17"); len(dst) != 4 {
			t.Fatalf("%d values, want 4", len(dst))
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzCovers(f *testing.F) {
	f.Add("a/**", "a/*", "a/b")
	f.Add("*/b", "a/b", "a/b")
	f.Add("https://x/*", "https://x/y", "https://x/y")
	f.Fuzz(func(t *testing.T, pattern, other, name string) {
		if CheckPattern(pattern) != nil || CheckPattern(other) != nil || CheckName(name) != nil {
			return
		}
		if Covers(pattern, other) && Match(other, name) && !Match(pattern, name) {
			t.Fatalf("%q covers %q, but only the second selects %q", pattern, other, name)
		}
		var tree Tree[string]
		tree.Put(pattern, &pattern)
		if got := len(tree.Match(nil, name)) == 1; got != Match(pattern, name) {
			t.Fatalf("pattern %q, name %q: the tree says %v", pattern, name, got)
		}
	})
}

// TestOverlaps compares with all names of few segments.
func TestOverlaps(t *testing.T) {
	var names, patterns []string
	grow := func(all, with []string, last string) (longer []string) {
		for _, a := range all {
			for _, w := range with {
				longer = append(longer, a+"/"+w)
			}
			if last != "" {
				longer = append(longer, a+"/"+last)
			}
		}
		return longer
	}
	segments, ones := []string{"a", "b", "c"}, []string{"a", "b", "*"}
	for level, filters := segments, ones; len(level) < 100; level, filters = grow(level, segments, ""), grow(filters, ones, "") {
		names = append(names, level...)
		patterns = append(append(patterns, filters...), grow(filters, nil, "**")...)
	}
	patterns = append(patterns, "**")
	for _, p := range patterns {
		for _, q := range patterns {
			want := slices.ContainsFunc(names, func(n string) bool { return Match(p, n) && Match(q, n) })
			if got := Overlaps(p, q); got != want {
				t.Errorf("%s and %s: %v, want %v", p, q, got, want)
			}
		}
	}
}
