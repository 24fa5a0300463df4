package gomem

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"testing"

	"github.com/redline-go/redline/lab/gomem/functab"
)

var (
	update = flag.Bool("layouts", false, "download the toolchains and write layouts.json anew")
	tested = [][2]string{ // first and last toolchain of each row; the runtime of go1.23.x changed in between
		{"go1.22.0", "go1.22.12"},
		{"go1.23.0", "go1.23.3"},
		{"go1.23.4", "go1.23.12"},
		{"go1.24.0", "go1.24.13"},
		{"go1.25.0", "go1.25.8"},
		{"go1.26.0", "go1.26.8"},
		{"go1.27.0", "go1.27.4"},
	}
	ports = []string{"amd64", "arm64"}
)

// The table agrees with what the installed toolchain writes into binaries, on all ports.
func TestLayouts(t *testing.T) {
	if *update {
		writeLayouts(t)
		return
	}
	all, err := releases()
	if err != nil {
		t.Fatal(err)
	}
	r := find(all, runtime.Version())
	if r == nil {
		t.Logf("%s is not in the table: binaries without debugging information cannot be read; make gomem-layouts adds it", runtime.Version())
		return
	}
	for _, arch := range ports {
		t.Run(arch, func(t *testing.T) { checkPort(t, r.Arch[arch], sample(t, "local", arch)) })
	}
}

// checkPort compares a row of the table with a binary that has symbols and debugging information.
func checkPort(t *testing.T, p *port, im *image) {
	t.Helper()
	fields, err := im.debugLayout()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(fields, p.Fields) {
		t.Errorf("%s has fields\n%v, the table has\n%v", im.version, fields, p.Fields)
	}
	want := im.symbols
	if err := im.decodeSymbols(im.stored, 0); err != nil {
		t.Fatal(err)
	}
	for name, addr := range im.symbols {
		if want[name] != addr {
			t.Errorf("%s: %s is at %#x, its users say %#x", im.version, name, want[name], addr)
		}
	}
}

// sample compiles a program with a toolchain, and reads its symbols.
func sample(t *testing.T, toolchain, arch string) *image {
	t.Helper()
	bin := build(t, "empty", nil, []string{"GOTOOLCHAIN=" + toolchain, "GOARCH=" + arch, "CGO_ENABLED=0"})
	im := openImage(t, bin)
	if err := im.readSymbols(); err != nil {
		t.Fatal(err)
	}
	return im
}

// openImage opens a binary until the test ends.
func openImage(t *testing.T, bin string) *image {
	t.Helper()
	f, err := os.Open(bin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	im, err := newImage(f)
	if err != nil {
		t.Fatal(err)
	}
	return im
}

// writeLayouts takes each row from its last toolchain, and checks it with the first one too.
func writeLayouts(t *testing.T) {
	var all []*release
	for _, pair := range tested {
		r := &release{First: pair[0], Last: pair[1], Arch: map[string]*port{}}
		all = append(all, r)
		for _, arch := range ports {
			im := sample(t, r.Last, arch)
			fields, err := im.debugLayout()
			if err != nil {
				t.Fatal(err)
			}
			r.Arch[arch] = &port{Fields: fields, Sizes: im.sizes, Witnesses: witnesses(t, im)}
			if arch == "amd64" {
				r.Reasons = storedReasons(t, im)
			}
			delete(im.sizes, varReasons)
		}
	}
	b, err := encode(all)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("layouts.json", b, 0o644); err != nil {
		t.Fatal(err)
	}
	layoutsJSON = b
	for _, r := range all {
		for _, toolchain := range []string{r.First, r.Last} {
			for _, arch := range ports {
				t.Run(toolchain+"/"+arch, func(t *testing.T) {
					checkPort(t, r.Arch[arch], sample(t, toolchain, arch))
				})
			}
		}
	}
}

// encode writes a line for each list and each object of numbers, so that changes can be read.
func encode(all []*release) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	if err := e.Encode(all); err != nil {
		return nil, err
	}
	inner := regexp.MustCompile(`[\[{][^\[\]{}]*[\]}]`)
	gap := regexp.MustCompile(`\n *`)
	return inner.ReplaceAllFunc(b.Bytes(), func(p []byte) []byte { return gap.ReplaceAll(p, []byte(" ")) }), nil
}

// witnesses chooses functions that use each variable.
func witnesses(t *testing.T, im *image) map[string][]witness {
	t.Helper()
	tab, err := im.functions(im.stored, 0)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string][]uint64{}
	tab.Each(prefix, func(name string, f functab.Func) {
		if used[name], err = im.addresses(f); err != nil {
			t.Fatal(err)
		}
	})
	found := map[string][]witness{}
	for _, v := range variables {
		if v.name == varReasons {
			continue
		}
		addr, size := im.symbols[v.name], im.sizes[v.name]
		if addr == 0 || size == 0 {
			t.Fatalf("%s: no symbol %s", im.version, v.name)
		}
		if ws := choose(t, v.name, addr, size, used, v.apart); len(ws) > 0 {
			found[v.name] = ws
		}
	}
	return found
}

// choose takes up to 24 uses, no more than three of a function, so that a function that a
// patch changes has few votes. Functions with few addresses come first: they are clear.
// For a variable that is apart, there may be too few: the result is nil.
func choose(t *testing.T, name string, addr, size uint64, used map[string][]uint64, apart bool) []witness {
	t.Helper()
	names := slices.SortedFunc(maps.Keys(used), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(used[a]), len(used[b])), cmp.Compare(a, b))
	})
	var ws []witness
	for _, f := range names {
		n := 0
		for _, a := range slices.Compact(slices.Sorted(slices.Values(used[f]))) {
			if a >= addr && a < addr+size && n < 3 && len(ws) < 24 && (a-addr)%4 == 0 {
				ws = append(ws, witness{f, a - addr})
				n++
			}
		}
	}
	got, ok := elect(ws, used)
	if apart && (!ok || got != addr || len(ws) < 3) {
		return nil
	}
	if !ok || got != addr || len(ws) < 3 {
		t.Fatalf("%s is at %#x, %d users say %#x: %v", name, addr, len(ws), got, ws)
	}
	return ws
}

// storedReasons reads what goroutines wait for from the file.
func storedReasons(t *testing.T, im *image) []string {
	t.Helper()
	var reasons []string
	head := make([]byte, 16)
	for at := im.symbols[varReasons]; ; at += 16 {
		if err := im.stored(head, at); err != nil {
			t.Fatal(err)
		}
		n := binary.LittleEndian.Uint64(head[8:])
		if len(reasons)*16 >= int(im.sizes[varReasons]) || n > maxReason {
			return reasons
		}
		text := make([]byte, n)
		if err := im.stored(text, binary.LittleEndian.Uint64(head)); n > 0 && err != nil {
			t.Fatal(err)
		}
		reasons = append(reasons, string(text))
	}
}
