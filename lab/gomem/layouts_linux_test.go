package gomem

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var (
	update   = flag.Bool("layouts", false, "download the toolchains and write layouts.json anew")
	releases_ = [][]string{ // first and last toolchain of each minor version
		{"go1.22.0", "go1.22.12"},
		{"go1.23.0", "go1.23.12"},
		{"go1.24.0", "go1.24.13"},
		{"go1.25.0", "go1.25.8"},
		{"go1.26.0", "go1.26.8"},
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
	r := all[minor(runtime.Version())]
	if r == nil {
		t.Logf("%s is not in the table: binaries without debugging information cannot be read; make layouts adds it", runtime.Version())
		return
	}
	for _, arch := range ports {
		t.Run(arch, func(t *testing.T) { checkPort(t, r.Arch[arch], sample(t, "local", arch)) })
	}
}

// checkPort compares a row of the table with a binary that has symbols and debugging information.
func checkPort(t *testing.T, p *port, im *image) {
	t.Helper()
	fields, err := debugLayout(im.elf)
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

// stored reads from the file what the process has in its memory when it starts.
func (im *image) stored(p []byte, addr uint64) error {
	for _, prog := range im.elf.Progs {
		if prog.Type == elf.PT_LOAD && addr >= prog.Vaddr && addr < prog.Vaddr+prog.Memsz {
			clear(p)
			if _, err := prog.ReadAt(p, int64(addr-prog.Vaddr)); err != io.EOF {
				return err
			}
			return nil
		}
	}
	return errAddress
}

// sample compiles a program with a toolchain, and reads its symbols.
func sample(t *testing.T, toolchain, arch string) *image {
	t.Helper()
	bin := build(t, "empty", nil, []string{"GOTOOLCHAIN=" + toolchain, "GOARCH=" + arch, "CGO_ENABLED=0"})
	f, err := os.Open(bin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	im, err := newImage(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := im.readSymbols(); err != nil {
		t.Fatal(err)
	}
	return im
}

func writeLayouts(t *testing.T) {
	all := map[string]*release{}
	for _, tested := range releases_ {
		r := &release{Tested: tested, Arch: map[string]*port{}}
		all[minor(tested[0])] = r
		for _, arch := range ports {
			im := sample(t, tested[1], arch)
			fields, err := debugLayout(im.elf)
			if err != nil {
				t.Fatal(err)
			}
			r.Arch[arch] = &port{Fields: fields, Witnesses: witnesses(t, im)}
			if arch == "amd64" {
				r.Reasons = storedReasons(t, im)
			}
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
	for _, tested := range releases_ {
		for _, toolchain := range tested {
			for _, arch := range ports {
				t.Run(toolchain+"/"+arch, func(t *testing.T) {
					checkPort(t, all[minor(toolchain)].Arch[arch], sample(t, toolchain, arch))
				})
			}
		}
	}
}

// encode writes a line for each list, so that changes can be read.
func encode(all map[string]*release) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	if err := e.Encode(all); err != nil {
		return nil, err
	}
	var out []string
	depth := 0
	for line := range strings.Lines(b.String()) {
		text := strings.TrimSpace(line)
		flat := depth > 0
		if strings.HasSuffix(text, "[") || flat && strings.HasSuffix(text, "{") || !flat && strings.HasPrefix(text, `"`) && strings.Contains(text, ".") && strings.HasSuffix(text, ": {") && !strings.HasPrefix(text, `"go`) {
			depth++
		} else if flat && (strings.HasPrefix(text, "]") || strings.HasPrefix(text, "}")) {
			depth--
		}
		if flat {
			out[len(out)-1] += text
			if strings.HasSuffix(text, ",") && depth > 0 {
				out[len(out)-1] += " "
			}
			continue
		}
		out = append(out, strings.TrimRight(line, "\n"))
	}
	return []byte(strings.Join(out, "\n") + "\n"), nil
}

// witnesses chooses functions that use each variable.
func witnesses(t *testing.T, im *image) map[string][]witness {
	t.Helper()
	tab, err := im.functions(im.stored, 0)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string][]uint64{}
	tab.each(func(name string, start, end uint64) {
		if used[name], err = im.addresses(function{start, end}); err != nil {
			t.Fatal(err)
		}
	})
	sizes := variableSizes(t, im)
	found := map[string][]witness{}
	for _, v := range variables {
		if v.name == varReasons {
			continue
		}
		addr, size := im.symbols[v.name], sizes[v.name]
		if addr == 0 || size == 0 {
			t.Fatalf("%s: no symbol %s", im.version, v.name)
		}
		found[v.name] = choose(t, v.name, addr, size, used)
	}
	return found
}

// choose takes up to 24 uses, no more than three of a function, so that a function that a
// patch changes has few votes. Functions with few addresses come first: they are clear.
func choose(t *testing.T, name string, addr, size uint64, used map[string][]uint64) []witness {
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
	if !ok || got != addr || len(ws) < 3 {
		t.Fatalf("%s is at %#x, %d users say %#x: %v", name, addr, len(ws), got, ws)
	}
	return ws
}

// variableSizes returns the sizes of symbols.
func variableSizes(t *testing.T, im *image) map[string]uint64 {
	t.Helper()
	syms, err := im.elf.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]uint64{}
	for _, s := range syms {
		m[s.Name] = s.Size
	}
	return m
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
		if len(reasons)*16 >= int(variableSizes(t, im)[varReasons]) || n > maxReason {
			return reasons
		}
		text := make([]byte, n)
		if err := im.stored(text, binary.LittleEndian.Uint64(head)); n > 0 && err != nil {
			t.Fatal(err)
		}
		reasons = append(reasons, string(text))
	}
}

var _ = fmt.Sprint
var _ = exec.Command
var _ = filepath.Join
