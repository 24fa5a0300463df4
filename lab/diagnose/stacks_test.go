package diagnose

import (
	"slices"
	"testing"
)

var (
	handler = Frame{Func: "example.com/shop/cart.(*Cart).Total", File: "cart.go", Line: 7, Kind: User}
	serve   = Frame{Func: "net/http.(*conn).serve", Kind: Standard}
	decode  = Frame{Func: "encoding/json.(*decodeState).object", Kind: Standard}
	client  = Frame{Func: "github.com/acme/client.Get[go.shape.struct { example.com/x/y.T }]", Kind: Library}
	malloc  = Frame{Func: "runtime.mallocgc", Kind: Runtime}
)

func someStacks() *Stacks {
	return &Stacks{Total: 10, List: []Stack{
		{Weight: 4, Frames: []Frame{malloc, decode, handler, serve}},
		{Weight: 3, Frames: []Frame{decode, decode, client, handler, serve}},
		{Weight: 2, Frames: []Frame{malloc, client, serve}},
		{Weight: 1, Frames: []Frame{serve}},
	}}
}

func TestPackage(t *testing.T) {
	for f, want := range map[Frame]string{
		handler: "example.com/shop/cart", serve: "net/http", client: "github.com/acme/client", malloc: "runtime",
		{Func: "main.main.func1"}: "main", {}: "", {Func: "do_syscall_64"}: "",
	} {
		if got := f.Package(); got != want {
			t.Errorf("%s: %q, want %q", f.Func, got, want)
		}
	}
}

func TestShare(t *testing.T) {
	s := someStacks()
	for _, c := range []struct {
		name  string
		match Match
		want  float64
	}{
		{"package", In("encoding/json"), 0.7},
		{"tree", In("encoding/..."), 0.7},
		{"no part of a name", In("encoding/js"), 0},
		{"function", Called("runtime.mallocgc"), 0.6},
		{"prefix", Called("runtime.malloc*"), 0.6},
		{"kind", Of(Library), 0.5},
		{"any", Any(Called("runtime.mallocgc"), In("encoding/json")), 0.9},
		{"all", In("net/http"), 1},
	} {
		if got := s.Share(c.match); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if with, without := s.With(c.match), s.Without(c.match); with.Total+without.Total != s.Total || len(with.List)+len(without.List) != len(s.List) {
			t.Errorf("%s: %v with and %v without", c.name, with.Total, without.Total)
		}
	}
	var none *Stacks
	if none.Share(Of(User)) != 0 || none.With(Of(User)).Total != 0 || none.Sites(Of(User)) != nil || (&Stacks{}).Share(Of(User)) != 0 {
		t.Error("stacks that were not seen have a share")
	}
}

// A site is the server's own code before that of a library, and a library's before others.
func TestSites(t *testing.T) {
	var got []string
	for _, s := range someStacks().Sites(Called("runtime.mallocgc")) {
		got = append(got, s.Frame.Func)
	}
	if want := []string{handler.Func, client.Func}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	sites := someStacks().Sites(In("encoding/json"))
	if len(sites) != 1 || sites[0].Frame != handler || sites[0].Weight != 7 {
		t.Errorf("%+v", sites)
	}
	if only := someStacks().Sites(Called("net/http.(*conn).serve")); len(only) != 1 || only[0].Frame != serve || only[0].Weight != 10 {
		t.Errorf("%+v", only)
	}
}
