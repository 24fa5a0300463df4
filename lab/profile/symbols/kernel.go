package symbols

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"
)

const (
	maxKernel    = 256 << 20 // bytes of /proc/kallsyms
	maxMap       = 64 << 20  // bytes of a perf map
	maxMapLines  = 1 << 20
	maxLineBytes = 8 << 10
)

// A Kernel has the functions of the kernel and of its modules.
type Kernel struct{ list table }

// A Map has the functions that a compiler at run time has made.
type Map struct{ list table }

// table is a list of functions by address, whose names are in one piece of memory.
type table struct {
	text    []byte
	entries []entry
}

type entry struct {
	addr, size uint64 // size 0: up to the next
	name, end  uint32 // in text
}

func (t *table) add(addr, size uint64, name []byte) {
	at := uint32(len(t.text))
	t.text = append(t.text, name...)
	t.entries = append(t.entries, entry{addr, size, at, uint32(len(t.text))})
}

// sort orders the entries. Of several for one address the last remains: code is replaced.
func (t *table) sort() {
	slices.SortStableFunc(t.entries, func(a, b entry) int {
		if a.addr < b.addr {
			return -1
		}
		return int(min(1, a.addr-b.addr))
	})
	kept := t.entries[:0]
	for i, e := range t.entries {
		if i+1 == len(t.entries) || t.entries[i+1].addr != e.addr {
			kept = append(kept, e)
		}
	}
	t.entries = kept
}

func (t *table) lookup(addr uint64) (string, bool) {
	i := sort.Search(len(t.entries), func(i int) bool { return t.entries[i].addr > addr }) - 1
	if i < 0 {
		return "", false
	}
	e := t.entries[i]
	if e.size > 0 && addr-e.addr >= e.size {
		return "", false
	}
	return string(t.text[e.name:e.end]), true
}

// each calls f with every line of r, up to the limit of bytes. Longer lines are left out.
func each(r io.Reader, limit int64, f func(line []byte) bool) error {
	in := bufio.NewReaderSize(io.LimitReader(r, limit), maxLineBytes)
	for {
		line, more, err := in.ReadLine()
		for part := more; part && err == nil; {
			_, part, err = in.ReadLine()
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if !more && !f(line) {
			return nil
		}
	}
}

// ReadKernel reads the format of /proc/kallsyms. It returns [ErrHidden] if all addresses
// are zero, as the kernel shows them to those who may not see them.
func ReadKernel(r io.Reader) (*Kernel, error) {
	k := &Kernel{}
	seen := false
	err := each(r, maxKernel, func(line []byte) bool {
		addr, rest, ok := bytes.Cut(line, []byte(" "))
		if !ok || len(rest) < 3 || !strings.ContainsRune("tTwW", rune(rest[0])) {
			return true
		}
		seen = true
		n, err := strconv.ParseUint(string(addr), 16, 64)
		if err != nil || n == 0 {
			return true
		}
		name, module, ok := bytes.Cut(rest[2:], []byte("\t"))
		k.list.add(n, 0, name)
		if ok {
			k.list.text = append(append(k.list.text, ' '), module...)
			k.list.entries[len(k.list.entries)-1].end = uint32(len(k.list.text))
		}
		return len(k.list.entries) < maxSymbols
	})
	if err != nil {
		return nil, fmt.Errorf("read the symbols of the kernel: %w", err)
	}
	if len(k.list.entries) == 0 && seen {
		return nil, ErrHidden
	}
	k.list.sort()
	return k, nil
}

// Lookup returns the function of the kernel at an address; for one of a module, the module in
// brackets too.
func (k *Kernel) Lookup(addr uint64) (string, bool) {
	if k == nil {
		return "", false
	}
	return k.list.lookup(addr)
}

// ReadMap reads the lines "START SIZE NAME" of a perf map, in hexadecimal digits, as compilers
// at run time write it for perf. Lines that are damaged are left out.
func ReadMap(r io.Reader) (*Map, error) {
	m := &Map{}
	lines := 0
	err := each(r, maxMap, func(line []byte) bool {
		lines++
		addr, rest, ok1 := bytes.Cut(line, []byte(" "))
		size, name, ok2 := bytes.Cut(rest, []byte(" "))
		if !ok1 || !ok2 || len(name) == 0 {
			return lines < maxMapLines
		}
		from, err1 := strconv.ParseUint(strings.TrimPrefix(string(addr), "0x"), 16, 64)
		length, err2 := strconv.ParseUint(strings.TrimPrefix(string(size), "0x"), 16, 64)
		if err1 == nil && err2 == nil && length > 0 {
			m.list.add(from, length, name[:min(len(name), 1024)])
		}
		return lines < maxMapLines
	})
	if err != nil {
		return nil, fmt.Errorf("read the map of functions: %w", err)
	}
	m.list.sort()
	return m, nil
}

// Lookup returns the function at an address of the process.
func (m *Map) Lookup(addr uint64) (string, bool) {
	if m == nil {
		return "", false
	}
	return m.list.lookup(addr)
}
