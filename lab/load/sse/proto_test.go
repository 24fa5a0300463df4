package sse

import (
	"encoding/binary"
	"strings"
	"testing"
)

// field appends a field of a protobuf message: a uint64 as a varint, an int64 as fixed64, an
// int32 as fixed32, or a string.
func field(b []byte, number uint64, value any) []byte {
	switch v := value.(type) {
	case uint64:
		return binary.AppendUvarint(binary.AppendUvarint(b, number<<3|wireVarint), v)
	case int64:
		return binary.LittleEndian.AppendUint64(binary.AppendUvarint(b, number<<3|wireFixed64), uint64(v))
	case int32:
		return binary.LittleEndian.AppendUint32(binary.AppendUvarint(b, number<<3|wireFixed32), uint32(v))
	}
	text := value.(string)
	return append(binary.AppendUvarint(binary.AppendUvarint(b, number<<3|wireBytes), uint64(len(text))), text...)
}

func TestProto(t *testing.T) {
	var m []byte
	m = field(m, 1, "topic")
	m = field(m, 2, uint64(300))
	m = field(m, 3, int64(1763721234567890123))
	m = field(m, 4, `{"seq": 17, "ts": 1763721234567890123}`)
	m = field(m, 5, "")
	m = field(m, 6, int32(77))
	m = field(m, 500, "42 apples")
	m = field(m, 7, uint64(0))
	tests := []struct {
		source string
		want   uint64
		found  bool
	}{
		{"#2", 300, true},
		{"#3", 1763721234567890123, true},
		{"#4.ts", 1763721234567890123, true},
		{"#4.seq", 17, true},
		{"#6", 77, true},
		{"#500", 42, true},
		{"#7", 0, true},
		{"#1", 0, false},
		{"#5", 0, false},
		{"#4.other", 0, false},
		{"#8", 0, false},
	}
	for _, test := range tests {
		from, err := ParseSource(test.source)
		if err != nil {
			t.Fatal(err)
		}
		of := target{Data, from.Number, from.Path}
		for _, size := range []int{1, 2, 5, len(m)} { // bytes of a read
			var f finder
			for in := m; len(in) > 0; {
				n := min(size, len(in))
				of.feed(&f, in[:n])
				in = in[n:]
			}
			f.end()
			if got := f.digits; f.any != test.found || got != test.want {
				t.Errorf("%s in reads of %d: %d, %v; want %d, %v", test.source, size, got, f.any, test.want, test.found)
			}
		}
	}
}

// Text that is not a message has no field, and one that ends early has none either.
func TestProtoBroken(t *testing.T) {
	for _, in := range []string{"\x0b", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\x10", "\x11abc", "\x12\x05a", "\x07\x01"} {
		var f finder
		f.unwrap([]byte(in), 2, nil)
		if f.end(); f.any {
			t.Errorf("%q: found %d", in, f.digits)
		}
	}
}

func TestProtoSources(t *testing.T) {
	for text, valid := range map[string]bool{
		"#1": true, "#536870911": true, "#4.a.b": true, "#4": true,
		"#": false, "#0": false, "#x": false, "#536870912": false, "#4.": false, "#4.@id": false, "#4.#2": false, "#-1": false,
	} {
		if _, err := ParseSource(text); (err == nil) != valid {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, f := range []Format{Events, Lines} {
		if _, err := NewStream(Config{Format: f, Stamp: Source{Field: "data", Number: 1}}); err == nil || !strings.Contains(err.Error(), "protobuf") {
			t.Errorf("format %d: %v", f, err)
		}
	}
}

func FuzzProto(f *testing.F) {
	f.Add(field(field(nil, 1, "topic"), 2, uint64(300)), uint32(2), uint8(1))
	f.Fuzz(func(t *testing.T, in []byte, number uint32, size uint8) {
		of := target{Data, max(number, 1), nil}
		var whole, split finder
		of.feed(&whole, in)
		for rest := in; len(rest) > 0; {
			n := min(int(size)+1, len(rest))
			of.feed(&split, rest[:n])
			rest = rest[n:]
		}
		if whole.any != split.any || whole.any && whole.number != split.number {
			t.Errorf("whole %+v, split %+v", whole.number, split.number)
		}
	})
}
