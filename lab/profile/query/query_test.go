package query

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/pprof/profile"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct{ name, pkg, fn string }{
		{"main.main", "main", "main"},
		{"main.main.func1.2", "main", "main.func1.2"},
		{"net/http.(*conn).serve", "net/http", "(*conn).serve"},
		{"net/http.(*conn).serve.gowrap1", "net/http", "(*conn).serve.gowrap1"},
		{"encoding/json.Marshal", "encoding/json", "Marshal"},
		{"github.com/a/b.Map[...]", "github.com/a/b", "Map[...]"},
		{"github.com/a/b.(*Tree[...]).Add", "github.com/a/b", "(*Tree[...]).Add"},
		{"slices.SortFunc[github.com/a/b.T,go.shape.struct { x/y.Z int }]", "slices", "SortFunc[github.com/a/b.T,go.shape.struct { x/y.Z int }]"},
		{"main.(*T[github.com/x/y.K]).Do", "main", "(*T[github.com/x/y.K]).Do"},
		{"gopkg.in/yaml%2ev3.Unmarshal", "gopkg.in/yaml.v3", "Unmarshal"},
		{"vendor/golang.org/x/net/http2/hpack.(*Encoder).WriteField", "vendor/golang.org/x/net/http2/hpack", "(*Encoder).WriteField"},
		{"example.org/a/vendor/example.com/b.F", "example.org/a/vendor/example.com/b", "F"},
		{"github.com/a/b.init.0", "github.com/a/b", "init.0"},
		{"type:.eq.main.T", "runtime", "type:.eq.main.T"},
		{"go:struct {}.X", "runtime", "go:struct {}.X"},
		{"malloc", "", "malloc"},
		{"", "", ""},
		{"a%zz.F", "a%zz", "F"},
	} {
		if pkg, fn := Split(c.name); pkg != c.pkg || fn != c.fn {
			t.Errorf("%q: %q, %q; want %q, %q", c.name, pkg, fn, c.pkg, c.fn)
		}
	}
}

// made builds profiles from stacks of names.
type made struct {
	p     *profile.Profile
	locs  map[string]*profile.Location
	funcs map[string]*profile.Function
}

func newMade() *made {
	return &made{
		p:    &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}},
		locs: map[string]*profile.Location{}, funcs: map[string]*profile.Function{},
	}
}

// function is of Go, unless its name begins with "c:" or "k:".
func (m *made) function(name string) *profile.Function {
	f := m.funcs[name]
	if f == nil {
		f = &profile.Function{ID: uint64(len(m.funcs) + 1), Name: name, Filename: "/src/x.go"}
		if len(name) > 2 && name[1] == ':' {
			f.Name, f.Filename = name[2:], ""
		}
		m.funcs[name] = f
		m.p.Function = append(m.p.Function, f)
	}
	return f
}

// add adds a sample; each place is a function, or several that were inlined.
func (m *made) add(value int64, places ...[]string) {
	s := &profile.Sample{Value: []int64{1, value}}
	for _, names := range places {
		key := fmt.Sprint(names)
		l := m.locs[key]
		if l == nil {
			l = &profile.Location{ID: uint64(len(m.locs) + 1), Address: uint64(len(m.locs))}
			for i, name := range names {
				l.Line = append(l.Line, profile.Line{Function: m.function(name), Line: int64(i + 7)})
				if name[:2] == "k:" {
					l.Mapping = &profile.Mapping{ID: 1, File: "[kernel]"}
				}
			}
			m.locs[key] = l
			m.p.Location = append(m.p.Location, l)
		}
		s.Location = append(s.Location, l)
	}
	m.p.Sample = append(m.p.Sample, s)
}

func stack(names ...string) (out [][]string) {
	for _, n := range names {
		out = append(out, []string{n})
	}
	return out
}

// example has inlined calls, recursion, a library that calls back, and other languages.
func example() *profile.Profile {
	m := newMade()
	m.add(100, stack("runtime.mallocgc", "encoding/json.Marshal", "example.org/app/api.Get", "net/http.serverHandler.ServeHTTP", "main.main")...)
	m.add(50, []string{"runtime.memmove", "encoding/json.Marshal"}, []string{"github.com/lib/x.Do", "example.org/app/api.Put"})
	m.add(30, stack("k:tcp_sendmsg.isra.0", "syscall.Syscall", "net/http.(*conn).serve")...)
	m.add(20, stack("c:malloc", "c:main")...)
	m.add(10, stack("encoding/json.Marshal", "encoding/json.Marshal", "main.main")...)
	m.p.Sample = append(m.p.Sample, &profile.Sample{
		Value:    []int64{1, 5},
		Location: []*profile.Location{{Mapping: &profile.Mapping{File: "/lib/libz.so.1"}}},
		Label:    map[string][]string{"state": {"D"}},
	})
	return m.p
}

func TestQuestions(t *testing.T) {
	q, err := New(example(), Options{Value: "cpu", Module: "example.org/app"})
	if err != nil {
		t.Fatal(err)
	}
	if q.Total() != 215 || q.Unit() != "nanoseconds" || q.Len() != 6 {
		t.Errorf("%d %s in %d samples, want 215 nanoseconds in 6", q.Total(), q.Unit(), q.Len())
	}
	for _, c := range []struct {
		name  string
		match func(*Func) bool
		want  int64
	}{
		{"json, once although it is recursive", Packages("encoding/json"), 160},
		{"user", Kinds(User), 160},
		{"library", Kinds(Library), 50},
		{"standard", Kinds(Standard), 190},
		{"runtime", Kinds(Runtime), 150},
		{"kernel", Kinds(Kernel), 30},
		{"native", Kinds(Native), 20},
		{"unknown", Kinds(Unknown), 5},
		{"none", Packages("nothing"), 0},
	} {
		if got := q.Sum(c.match); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	if got := q.Share(Packages("encoding/json")); got != 160.0/215 {
		t.Errorf("the share is %v", got)
	}
	if got := q.Select(func(s *profile.Sample) bool { return slices.Contains(s.Label["state"], "D") }); got.Total() != 5 || got.Len() != 1 {
		t.Errorf("selected are %d in %d samples", got.Total(), got.Len())
	}
	if PerRequest(215, 10) != 21.5 || PerRequest(1, 0) != 0 {
		t.Error("values per request are wrong")
	}
}

func TestTop(t *testing.T) {
	q, err := New(example(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		by   Order
		want []string
	}{
		{ByFlat, []string{"runtime.mallocgc 100 100", "runtime.memmove 50 50", "tcp_sendmsg.isra.0 30 30"}},
		{ByCum, []string{"encoding/json.Marshal 10 160", "main.main 0 110", "runtime.mallocgc 100 100"}},
	} {
		var got []string
		for _, r := range q.Top(c.by, 3) {
			got = append(got, fmt.Sprint(r.Name, " ", r.Flat, " ", r.Cum))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
	if all := q.Top(ByFlat, -1); all[len(all)-1].Flat != 0 || len(all) != 14 {
		t.Errorf("%d functions", len(all))
	}
}

func TestCallers(t *testing.T) {
	q, err := New(example(), Options{Module: "example.org/app"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name        string
		match, skip func(*Func) bool
		want        []string
		rest        int64
	}{
		{"json", Packages("encoding/json"), nil, []string{"example.org/app/api.Get 7 100", "github.com/lib/x.Do 7 50", "main.main 7 10"}, 0},
		{"without a library", Packages("encoding/json"), Packages("github.com/lib/x"), []string{"example.org/app/api.Get 7 100", "example.org/app/api.Put 8 50", "main.main 7 10"}, 0},
		{"nobody", Kinds(Kernel), nil, nil, 30},
	} {
		var got []string
		callers, rest := q.Callers(c.match, c.skip)
		for _, r := range callers {
			got = append(got, fmt.Sprint(r.Name, " ", r.Line, " ", r.Value))
		}
		if !slices.Equal(got, c.want) || rest != c.rest {
			t.Errorf("%s: %v and %d, want %v and %d", c.name, got, rest, c.want, c.rest)
		}
	}
}

func TestKinds(t *testing.T) {
	for _, c := range []struct {
		pkg, module string
		want        Kind
	}{
		{"main", "", User},
		{"target/internal/x", "target", User},
		{"targets", "target", Standard},
		{"internal/runtime/maps", "", Runtime},
		{"runtime/pprof", "", Standard},
		{"github.com/a/b", "", Library},
		{"vendor/golang.org/x/net/idna", "", Standard},
	} {
		if got := classify(c.pkg, c.module); got != c.want {
			t.Errorf("%s in module %q is %s, want %s", c.pkg, c.module, got, c.want)
		}
	}
	for name, want := range map[string]Kind{
		"py::handle:/srv/app.py":                                    User,
		"py::get:/usr/lib/python3.12/site-packages/requests/api.py": Library,
		"py::loads:/usr/lib/python3.12/json/__init__.py":            Standard,
		"JS:*hot /srv/app.js:1:13":                                  User,
		"LazyCompile:~emit node:events:465:44":                      Standard,
		"JS:^x /srv/node_modules/y/z.js:3:1":                        Library,
		"Function:anonymous":                                        Runtime,
	} {
		if got, ok := script(name); got != want || !ok {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestValue(t *testing.T) {
	if _, err := New(example(), Options{Value: "heap"}); !errors.Is(err, ErrNoValue) {
		t.Error(err)
	}
	if _, err := New(&profile.Profile{}, Options{}); !errors.Is(err, ErrNoValue) {
		t.Error(err)
	}
	if q, err := New(example(), Options{Value: "samples"}); err != nil || q.Total() != 6 {
		t.Error(q, err)
	}
}

func TestMerge(t *testing.T) {
	m := newMade()
	m.add(10, stack("main.main")...)
	m.add(3, stack("main.f", "main.main")...)
	both, err := Merge(m.p, m.p)
	if err != nil {
		t.Fatal(err)
	}
	q, err := New(both, Options{})
	if err != nil || q.Total() != 26 || len(both.Sample) != 2 {
		t.Errorf("%d in %d samples, %v", q.Total(), len(both.Sample), err)
	}
	if _, err := Merge(); err == nil {
		t.Error("nothing was merged")
	}
	if _, err := Merge(m.p, &profile.Profile{SampleType: []*profile.ValueType{{Type: "x"}}}); err == nil {
		t.Error("different profiles were merged")
	}
}

// large is a profile of 100,000 samples with stacks of 40 functions.
func large() *profile.Profile {
	m, r := newMade(), rand.New(rand.NewPCG(1, 2))
	names := make([]string, 5000)
	for i := range names {
		names[i] = fmt.Sprintf("example.org/p%d.F%d", i%100, i)
	}
	for range 100_000 {
		s := make([]string, 40)
		for i := range s {
			s[i] = names[r.IntN(len(names))]
		}
		m.add(1, stack(s...)...)
	}
	return m.p
}

func BenchmarkQuestions(b *testing.B) {
	p := large()
	q, err := New(p, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			_, _ = New(p, Options{})
		}
	})
	b.Run("share", func(b *testing.B) {
		for b.Loop() {
			q.Share(Packages("example.org/p1"))
		}
	})
	b.Run("top", func(b *testing.B) {
		for b.Loop() {
			q.Top(ByCum, 20)
		}
	})
	b.Run("callers", func(b *testing.B) {
		for b.Loop() {
			q.Callers(Packages("example.org/p1"), nil)
		}
	})
}
