package perfevent

import (
	"encoding/binary"
	"slices"
	"testing"
)

// body builds a record of numbers and texts.
func body(parts ...any) (p []byte) {
	for _, x := range parts {
		switch x := x.(type) {
		case uint32:
			p = binary.LittleEndian.AppendUint32(p, x)
		case uint64:
			p = binary.LittleEndian.AppendUint64(p, x)
		case string:
			p = append(p, x...)
		}
	}
	return p
}

// whole is the configuration of an event that records everything.
var whole = Config{Stack: true, Raw: true, Leaf: 16}

func configs(id uint64) (Config, bool) {
	switch id {
	case 1:
		return Config{Stack: true}, true
	case 2:
		return whole, true
	}
	return Config{}, false
}

func full() []byte {
	parts := []any{
		uint64(2), uint32(10), uint32(11), uint64(99), // id, pid, tid, time
		uint64(6), contextKernel, uint64(0xffffffff81000001), uint64(0xffffffff81000002), contextUser, uint64(0x401000), uint64(0x402000),
		uint32(4), "rawd",
	}
	if leafRegisters != 0 {
		parts = append(parts, uint64(2), uint64(0x7000), uint64(0x6ff0), uint64(0x401000), uint64(16), uint64(7), uint64(8), uint64(8))
	}
	return body(parts...)
}

func TestSample(t *testing.T) {
	r, ok := Parse(RecordSample, 0, full(), configs)
	if !ok || r.PID != 10 || r.TID != 11 || r.Time != 99 || string(r.Raw) != "rawd" {
		t.Fatalf("%+v, %v", r, ok)
	}
	if !slices.Equal(r.Kernel, []uint64{0xffffffff81000001, 0xffffffff81000002}) || !slices.Equal(r.User, []uint64{0x401000, 0x402000}) {
		t.Errorf("stacks are %#x and %#x", r.Kernel, r.User)
	}
	if leafRegisters != 0 && (r.Leaf == nil || r.Leaf.BP != 0x7000 || r.Leaf.SP != 0x6ff0 || r.Leaf.IP != 0x401000 || len(r.Leaf.Stack) != 8) {
		t.Errorf("the leaf is %+v", r.Leaf)
	}
	c := r.Clone()
	r.Raw[0] = 'x'
	if string(c.Raw) != "rawd" {
		t.Error("a clone shares its bytes")
	}
	onlyUser := body(uint64(1), uint32(1), uint32(1), uint64(5), uint64(2), contextUser, uint64(0x401000))
	if r, ok := Parse(RecordSample, 0, onlyUser, configs); !ok || len(r.Kernel) != 0 || len(r.User) != 1 {
		t.Errorf("%+v, %v", r, ok)
	}
	if _, ok := Parse(RecordSample, 0, body(uint64(77), uint64(0), uint64(0)), configs); ok {
		t.Error("a sample of an unknown event is accepted")
	}
	huge := body(uint64(1), uint32(1), uint32(1), uint64(5), uint64(1<<61))
	if _, ok := Parse(RecordSample, 0, huge, configs); ok {
		t.Error("a stack that is longer than its record is accepted")
	}
}

func TestOthers(t *testing.T) {
	end := []any{uint32(10), uint32(11), uint64(99), uint64(2)}
	for _, c := range []struct {
		name string
		kind uint32
		misc uint16
		body []any
		want func(Record) bool
	}{
		{"lost", RecordLost, 0, []any{uint64(2), uint64(7)}, func(r Record) bool { return r.Lost == 7 }},
		{"lost samples", RecordLostSamples, 0, []any{uint64(3)}, func(r Record) bool { return r.Lost == 3 }},
		{"fork", RecordFork, 0, []any{uint32(20), uint32(10), uint32(20), uint32(10), uint64(98)}, func(r Record) bool { return r.PID == 20 && r.Parent == 10 && r.TID == 20 }},
		{"comm", RecordComm, 1 << 13, []any{uint32(20), uint32(21), "nginx\x00\x00\x00"}, func(r Record) bool { return r.Exec && r.Name == "nginx" && r.TID == 21 }},
		{"mmap", RecordMmap2, 0, []any{uint32(20), uint32(20), uint64(0x1000), uint64(0x2000), uint64(0x3000), uint64(5), uint64(42), uint64(0), uint64(0), "/bin/x\x00\x00"}, func(r Record) bool {
			return r.Map == Mapping{0x1000, 0x2000, 0x3000, 42} && r.Name == "/bin/x"
		}},
		{"runs again", RecordSwitch, 0, nil, func(r Record) bool { return r.Kind == RecordSwitch && r.TID == 11 }},
		{"runs again on a CPU", recordSwitchWide, 0, []any{uint32(1), uint32(1)}, func(r Record) bool { return r.Kind == RecordSwitch && r.TID == 11 }},
	} {
		r, ok := Parse(c.kind, c.misc, body(append(c.body, end...)...), configs)
		if !ok || r.Time != 99 || !c.want(r) {
			t.Errorf("%s: %+v, %v", c.name, r, ok)
		}
		for n := range len(c.body) * 4 {
			Parse(c.kind, c.misc, body(append(c.body, end...)...)[n:], configs)
		}
	}
	if _, ok := Parse(RecordSwitch, 1<<13, body(end...), configs); ok {
		t.Error("a thread that stops running is reported as one that runs")
	}
	if _, ok := Parse(99, 0, body(end...), configs); ok {
		t.Error("a record of another kind is accepted")
	}
	if _, ok := Parse(RecordComm, 0, nil, configs); ok {
		t.Error("an empty record is accepted")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(uint32(RecordSample), uint16(0), full())
	f.Add(uint32(RecordMmap2), uint16(0), make([]byte, 96))
	f.Fuzz(func(t *testing.T, kind uint32, misc uint16, p []byte) {
		r, ok := Parse(kind, misc, p, configs)
		if ok && len(r.User)+len(r.Kernel) > maxStack {
			t.Errorf("a stack has %d frames", len(r.User)+len(r.Kernel))
		}
		r.Clone()
	})
}
