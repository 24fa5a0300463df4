package frames

import (
	"slices"
	"testing"
)

func TestPackage(t *testing.T) {
	for name, want := range map[string]string{
		"main.main": "main", "main.(*shop).order.func1": "main", "net/http.(*conn).serve": "net/http",
		"github.com/a/b/v2.(*T[go.shape.struct { example.org/x.Y int }]).M": "github.com/a/b/v2",
		"slices.SortFunc[go.shape.[]example.org/x/y.T,go.shape.int]":        "slices", "gopkg.in/yaml%2ev3.Unmarshal": "gopkg.in/yaml.v3",
		"memeqbody": "", "std::vector<int>::push_back(int const&)": "", "ngx_http_handler": "", "": "", "foo(a.b)": "",
		"github.com/a/b.(*Tree[...]).Add": "github.com/a/b", "main.(*T[github.com/x/y.K]).Do": "main", "type:.eq.main.T": "runtime", "go:struct {}.X": "runtime", "a%zz.F": "a%zz",
	} {
		if got := Package(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"net/http.(*conn).serve": "http.(*conn).serve", "a/b.F[x/y.Z]": "b.F[x/y.Z]", "main.main": "main.main", "f(a/b)": "f(a/b)", "": "",
	} {
		if got := Short(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestOriginOf(t *testing.T) {
	const module = "example.org/shop"
	for _, c := range []struct {
		f    Frame
		want Origin
	}{
		{Frame{Name: "main.order", File: "/src/main.go"}, User},
		{Frame{Name: "example.org/shop/cart.(*Cart).Add", File: "cart.go"}, User},
		{Frame{Name: "example.org/shopping.Add", File: "cart.go"}, Library},
		{Frame{Name: "github.com/jackc/pgx.Connect", File: "x.go"}, Library},
		{Frame{Name: "net/http.(*conn).serve", File: "server.go"}, Standard},
		{Frame{Name: "vendor/golang.org/x/net/http/httpguts.f", File: "x.go"}, Standard},
		{Frame{Name: "runtime/pprof.writeHeap", File: "x.go"}, Standard},
		{Frame{Name: "runtime.mallocgc", File: "malloc.go"}, Runtime},
		{Frame{Name: "internal/runtime/maps.(*Map).Get", File: "x.go"}, Runtime},
		{Frame{Name: "memeqbody", File: "asm.s"}, Runtime},
		{Frame{Name: "do_syscall_64", Mapping: "[kernel]"}, Kernel},
		{Frame{Name: "do_syscall_64", Mapping: "[kernel.kallsyms]_stext"}, Kernel},
		{Frame{Name: "ngx_process_events", Mapping: "/usr/sbin/nginx"}, User},
		{Frame{Name: "deflate", Mapping: "/lib/libz.so.1"}, Library},
		{Frame{Name: "malloc", Mapping: "/lib/x86_64-linux-gnu/libc.so.6"}, Standard},
		{Frame{Name: "__vdso_clock_gettime", Mapping: "[vdso]"}, Standard},
		{Frame{Name: "0x1234"}, Unknown},
	} {
		if got := OriginOf(c.f, module); got != c.want {
			t.Errorf("%+v: %s, want %s", c.f, got, c.want)
		}
	}
	if got := OriginOf(Frame{Name: "example.org/shop.F", File: "x.go"}, ""); got != Library {
		t.Errorf("without a module: %s", got)
	}
	if got := OriginOf(Frame{Name: "shop/cart.F", File: "x.go"}, "shop"); got != User {
		t.Errorf("a module without a dot: %s", got)
	}
	if Origin(99).String() != "kernel" || len(Origins()) != 6 {
		t.Error("names of origins")
	}
}

func TestClassOf(t *testing.T) {
	for name, want := range map[string]string{
		"runtime.gcDrain": "gc", "runtime.bgsweep": "gc", "runtime.mallocgcTiny": "alloc", "runtime.newobject": "alloc", "runtime.growslice": "alloc",
		"runtime.findRunnable": "scheduler", "runtime.netpoll": "scheduler", "runtime.memmove": "memmove", "runtime.mapaccess1_faststr": "maps",
		"internal/runtime/syscall.Syscall6": "syscalls", "internal/runtime/syscall/linux.Syscall6": "syscalls", "syscall.write": "syscalls",
		"sync.(*Mutex).Lock": "locks", "internal/sync.(*Mutex).lockSlow": "locks", "runtime.lock2": "locks", "runtime.chansend1": "channels",
		"encoding/json.(*decodeState).object": "json", "encoding/jsonish.F": "", "crypto/tls.(*Conn).Write": "tls", "compress/flate.(*compressor).deflate": "compression",
		"net/http.(*conn).serve": "http", "net.(*conn).Read": "net", "main.main": "", "example.org/x.F": "", "runtime.newstack": "stacks",
	} {
		if got := ClassOf(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	names := Classes()
	for i, name := range names {
		if slices.Contains(names[i+1:], name) {
			t.Errorf("%s is there twice", name)
		}
	}
}
