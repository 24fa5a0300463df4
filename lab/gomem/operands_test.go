package gomem

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"
)

func TestOperandsAMD64(t *testing.T) {
	const start, next = 0x1000, 0x100
	for _, c := range []struct {
		name  string
		code  []byte // an instruction whose displacement, written as four zeros, is 0x100
		after int    // bytes after the displacement
	}{
		{"MOVQ x, AX", []byte{0x48, 0x8b, 0x05, 0, 0, 0, 0}, 0},
		{"LEAQ x, CX", []byte{0x48, 0x8d, 0x0d, 0, 0, 0, 0}, 0},
		{"CMPL x, $0", []byte{0x83, 0x3d, 0, 0, 0, 0, 0}, 1},
		{"MOVQ $1, x", []byte{0x48, 0xc7, 0x05, 0, 0, 0, 0, 1, 0, 0, 0}, 4},
		{"MOVB $1, x", []byte{0xc6, 0x05, 0, 0, 0, 0, 1}, 1},
		{"TESTB $1, x", []byte{0xf6, 0x05, 0, 0, 0, 0, 1}, 1},
		{"BTQ $3, x", []byte{0x48, 0x0f, 0xba, 0x25, 0, 0, 0, 0, 3}, 1},
		{"LOCK XADDL AX, x", []byte{0xf0, 0x0f, 0xc1, 0x05, 0, 0, 0, 0}, 0},
	} {
		code := slices.Concat([]byte{0x90, 0x90, 0x90}, c.code)
		at := len(code) - c.after - 4
		binary.LittleEndian.PutUint32(code[at:], next)
		var got []uint64
		operandsAMD64(code, start, func(a uint64) { got = append(got, a) })
		if want := uint64(start + len(code) + next); !slices.Contains(got, want) {
			t.Errorf("%s: %#x, want %#x", c.name, got, want)
		}
	}
}

func TestOperandsARM64(t *testing.T) {
	code := []byte{}
	for _, in := range []uint32{
		0xb0000080, 0x91048c00, // ADRP X0, 0x11000; ADD X0, X0, #0x123
		0xf0ffffe1, 0xf9400821, // ADRP X1, -0x1000; LDR X1, [X1, #16]
		0xb0000082, 0x91048c63, // another register
	} {
		code = binary.LittleEndian.AppendUint32(code, in)
	}
	var got []uint64
	operandsARM64(code, 0x100000, func(a uint64) { got = append(got, a) })
	if want := []uint64{0x111123, 0xff010}; !slices.Equal(got, want) {
		t.Errorf("operands are %#x, want %#x", got, want)
	}
}

func TestElect(t *testing.T) {
	ws := []witness{{"a", 0}, {"a", 8}, {"b", 16}, {"c", 24}}
	for _, c := range []struct {
		name string
		used map[string][]uint64
		addr uint64
		ok   bool
	}{
		{"all", map[string][]uint64{"a": {0x100, 0x108, 0x500}, "b": {0x110}, "c": {0x118, 0x118}}, 0x100, true},
		{"one has changed", map[string][]uint64{"a": {0x100, 0x108}, "b": {0x110}, "c": {0x700}}, 0x100, true},
		{"two have changed", map[string][]uint64{"a": {0x100, 0x108}, "b": {0x120}, "c": {0x700}}, 0, false},
		{"two candidates", map[string][]uint64{"a": {0x100, 0x108, 0x200, 0x208}, "b": {0x110, 0x210}, "c": {0x118, 0x218}}, 0, false},
		{"nothing", nil, 0, false},
	} {
		if addr, ok := elect(ws, c.used); ok != c.ok || ok && addr != c.addr {
			t.Errorf("%s: %#x %v", c.name, addr, ok)
		}
	}
}

func TestLimitGoal(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name                               string
		free, alloc, mapped, limit, marked uint64
		want                               uint64
	}{
		{"room", 0, 40 * mib, 50 * mib, 210 * mib, 30 * mib, 194 * mib},
		{"least headroom", 0, 4 * mib, 5 * mib, 21 * mib, 3 * mib, 19 * mib},
		{"exceeded", 0, 40 * mib, 50 * mib, 9 * mib, 30 * mib, 30 * mib},
		{"between updates", 20 * mib, 40 * mib, 50 * mib, 9 * mib, 30 * mib, math.MaxUint64},
		{"no limit", 0, 0, 0, math.MaxInt64, 0, math.MaxInt64 - math.MaxInt64/100*3},
	} {
		if got := limitGoal(c.free, c.alloc, c.mapped, c.limit, c.marked); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		version      string
		minor, patch int
		ok           bool
	}{
		{"go1.26.8", 26, 8, true},
		{"go1.26", 26, 0, true},
		{"go1.26rc1", 0, 0, false},
		{"go1.26.8 X:arenas", 0, 0, false},
		{"devel go1.27-0a1b", 0, 0, false},
		{"", 0, 0, false},
	} {
		if minor, patch, ok := parse(c.version); ok != c.ok || ok && (minor != c.minor || patch != c.patch) {
			t.Errorf("%q: %d %d %v", c.version, minor, patch, ok)
		}
	}
	all := []*release{{First: "go1.23.0"}, {First: "go1.23.4"}, {First: "go1.24.0"}}
	for version, want := range map[string]*release{"go1.23.3": all[0], "go1.23.4": all[1], "go1.23.99": all[1], "go1.24": all[2], "go1.25.0": nil} {
		if got := find(all, version); got != want {
			t.Errorf("%s: %+v", version, got)
		}
	}
}
