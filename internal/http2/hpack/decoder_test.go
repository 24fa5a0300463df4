package hpack

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

// invalidBlocks are refused.
var invalidBlocks = []struct {
	name  string
	block string
	code  Code
}{
	{"index 0", "80", ErrIndex},
	{"index after the static table", "be", ErrIndex},
	{"large index", "ffffff7f", ErrIndex},
	{"name index after the static table", "7e 01 61", ErrIndex},
	{"name index of a literal that is not indexed", "0f 2f 01 61", ErrIndex},
	{"index without its end", "ff", ErrTruncated},
	{"index without its end after some bytes", "ff8080", ErrTruncated},
	{"index of more than 28 bits", "ffffffffff7f", ErrInteger},
	{"index with zeros", "ff8080808000", ErrInteger},
	{"index of exactly 2^28", "ff81ffff7f", ErrInteger},
	{"literal without a name", "40", ErrTruncated},
	{"literal without a value", "00 01 61", ErrTruncated},
	{"name that is too short", "00 02 61", ErrTruncated},
	{"value that is too short", "00 01 61 05 61", ErrTruncated},
	{"value of 2^28", "00 01 61 7f 81ffff7f 61", ErrInteger},
	{"padding of 8 bits", "00 01 61 82 1fff", ErrHuffman},
	{"padding with a 0", "00 01 61 81 1e", ErrHuffman},
	{"padding of 0", "00 01 61 81 18", ErrHuffman},
	{"only padding", "00 01 61 81 ff", ErrHuffman},
	{"end of string", "00 01 61 84 ffffffff", ErrHuffman},
	{"end of string after others", "00 01 61 89 1c64 ffffffff ffffff", ErrHuffman},
	{"end of string in a name", "00 84 ffffffff 01 61", ErrHuffman},
	{"size update too large", "3fe21f", ErrUpdate},
	{"size update after a line", "82 20", ErrUpdate},
	{"three size updates", "20 20 20", ErrUpdate},
	{"size update without its end", "3f", ErrTruncated},
	{"size update of more than 28 bits", "3fffffffff7f", ErrInteger},
}

func TestInvalid(t *testing.T) {
	for _, test := range invalidBlocks {
		t.Run(test.name, func(t *testing.T) {
			for _, limit := range []int{1 << 20, 0} {
				var d Decoder
				d.Init(defaultTable)
				if _, _, _, err := d.Decode(unhex(t, test.block), nil, nil, limit, limit); !errors.Is(err, test.code) {
					t.Errorf("with %d bytes of room: %v, want %v", limit, err, test.code)
				}
			}
		})
	}
	if got := Code(0).Error(); got != Code(200).Error() {
		t.Errorf("an unknown code is %q", got)
	}
}

func TestIndices(t *testing.T) {
	for name, test := range map[string]struct {
		block string
		want  []uint8
	}{
		"second line of a name": {"83 87 8e", []uint8{2, 6, 8}},
		"literal with an index": {"43 01 61 05 01 61", []uint8{2, 4}},
		"literal name":          {"40 03 61 67 65 01 31 be", []uint8{21, 21}}, // age
		"upper case":            {"00 03 41 67 65 01 31", []uint8{0}},
		"unknown name":          {"40 03 61 67 66 01 31 be 7e 01 31", []uint8{0, 0, 0}},
		"empty":                 {"40 00 00 be", []uint8{0, 0}},
		"name of the table":     {"61 01 31 7e 01 32 be", []uint8{33, 33, 33}},
	} {
		t.Run(name, func(t *testing.T) {
			var d Decoder
			d.Init(defaultTable)
			text, fields, _, err := d.Decode(unhex(t, test.block), nil, nil, 1000, 100)
			var got []uint8
			for _, f := range fields {
				got = append(got, f.Index)
			}
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("indices %d of %q, %v; want %d", got, text, err, test.want)
			}
		})
	}
}

func TestSizeUpdates(t *testing.T) {
	for _, test := range []struct {
		name      string
		announced int
		blocks    []string
		want      []string
	}{
		{"to 0", 4096, []string{"61 01 31", "20", "61 01 32"}, nil},
		{"to 0 and back", 4096, []string{"61 01 31", "20 3fe11f 61 01 32"}, []string{"date: 2"}},
		{"to room for one line", 4096, []string{"61 01 31 61 01 32", "3f 0e"}, []string{"date: 2"}},
		{"larger than the default, as announced", 65536, []string{"3fe1ff03 61 01 31"}, []string{"date: 1"}},
		{"the default, as the peer does not know the announcement", 100, []string{"61 01 31", "3fe11f"}, []string{"date: 1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var d Decoder
			d.Init(test.announced)
			for _, b := range test.blocks {
				if _, _, _, err := d.Decode(unhex(t, b), nil, nil, 1000, 100); err != nil {
					t.Errorf("%q: %v", b, err)
				}
			}
			if got := d.table.contents(); !slices.Equal(got, test.want) {
				t.Errorf("table %q, want %q", got, test.want)
			}
		})
	}
}

// TestBomb has a line of 4,000 bytes, and refers to it again and again.
func TestBomb(t *testing.T) {
	var d Decoder
	d.Init(defaultTable)
	block := appendInteger([]byte{0x40, 1, 'a'}, 0, 7, 4000)
	block = append(block, strings.Repeat("x", 4000)...)
	block = append(block, bytes.Repeat([]byte{0xbe}, 60_000)...)
	text, fields, over, err := d.Decode(block, make([]byte, 0, 1<<15), nil, 1<<15, 1<<20)
	if err != nil || !over || len(fields) != 8 || len(text) != 8*4001 {
		t.Errorf("%d fields of %d bytes, over %v, %v", len(fields), len(text), over, err)
	}
	if cap(text) != 1<<15 {
		t.Errorf("the text grew to %d bytes, its limit is %d", cap(text), 1<<15)
	}
	text, fields, over, err = d.Decode(bytes.Repeat([]byte{0xbe}, 10), text[:0], fields[:0], 1<<20, 3)
	if err != nil || !over || len(fields) != 3 {
		t.Errorf("%d fields of %d bytes, over %v, %v", len(fields), len(text), over, err)
	}
}

// TestAppend decodes into memory that has content, and leaves it alone.
func TestAppend(t *testing.T) {
	var d Decoder
	d.Init(defaultTable)
	text, fields, over, err := d.Decode(unhex(t, "82 61 01 31"), []byte("before"), make([]Field, 1), 15, 2)
	if err != nil || over || string(text) != "before:methodGETdate1" {
		t.Errorf("%q, over %v, %v", text, over, err)
	}
	if got, want := decoded(text, fields[1:]), []string{":method: GET", "date: 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
