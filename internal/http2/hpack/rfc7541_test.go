package hpack

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"
)

// decoded returns the fields as "name: value".
func decoded(text []byte, fields []Field) (lines []string) {
	for _, f := range fields {
		line := string(f.Name.Of(text)) + ": " + string(f.Value.Of(text))
		if f.Sensitive {
			line += " (sensitive)"
		}
		lines = append(lines, line)
	}
	return lines
}

// contents returns the lines of a table, the newest first.
func (t *table) contents() (lines []string) {
	for back := range t.count {
		l := t.line(back)
		lines = append(lines, string(t.appendBytes(nil, l.at, l.name))+": "+string(t.appendBytes(nil, l.at+l.name, l.value)))
	}
	return lines
}

// unhex reads hexadecimal digits with spaces.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestIntegers(t *testing.T) { // C.1
	for _, test := range []struct {
		v    uint32
		bits uint
		want string
	}{
		{10, 5, "0a"},
		{1337, 5, "1f9a0a"},
		{42, 8, "2a"},
		{31, 5, "1f00"},
		{127, 7, "7f00"},
		{255, 7, "7f8001"},
		{maxInteger, 7, "7f80ffff7f"},
	} {
		b := appendInteger(nil, 0, test.bits, test.v)
		if got := hex.EncodeToString(b); got != test.want {
			t.Errorf("%d with %d bits: %s, want %s", test.v, test.bits, got, test.want)
		}
		if v, next, code := readInteger(b, 0, test.bits); v != test.v || next != len(b) || code != 0 {
			t.Errorf("%s: %d, position %d, %v", test.want, v, next, code)
		}
	}
}

type example struct {
	block  string
	fields []string
	table  []string
	size   uint32
}

var literals = []struct {
	name string
	example
}{
	{"C.2.1", example{
		"400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
		[]string{"custom-key: custom-header"},
		[]string{"custom-key: custom-header"},
		55,
	}},
	{"C.2.2", example{"040c 2f73 616d 706c 652f 7061 7468", []string{":path: /sample/path"}, nil, 0}},
	{"C.2.3", example{"1008 7061 7373 776f 7264 0673 6563 7265 74", []string{"password: secret (sensitive)"}, nil, 0}},
	{"C.2.4", example{"82", []string{":method: GET"}, nil, 0}},
}

const (
	authority  = ":authority: www.example.com"
	noCache    = "cache-control: no-cache"
	customLine = "custom-key: custom-value"
)

// requests is the outcome of C.3 and C.4.
func requests(blocks ...string) []example {
	return []example{
		{blocks[0], []string{":method: GET", ":scheme: http", ":path: /", authority}, []string{authority}, 57},
		{blocks[1], []string{":method: GET", ":scheme: http", ":path: /", authority, noCache}, []string{noCache, authority}, 110},
		{
			blocks[2],
			[]string{":method: GET", ":scheme: https", ":path: /index.html", authority, customLine},
			[]string{customLine, noCache, authority},
			164,
		},
	}
}

const (
	private  = "cache-control: private"
	date21   = "date: Mon, 21 Oct 2013 20:13:21 GMT"
	date22   = "date: Mon, 21 Oct 2013 20:13:22 GMT"
	location = "location: https://www.example.com"
	gzip     = "content-encoding: gzip"
	cookie   = "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"
)

// responses is the outcome of C.5 and C.6, with a table of 256 bytes.
func responses(blocks ...string) []example {
	return []example{
		{
			blocks[0],
			[]string{":status: 302", private, date21, location},
			[]string{location, date21, private, ":status: 302"},
			222,
		},
		{
			blocks[1],
			[]string{":status: 307", private, date21, location},
			[]string{":status: 307", location, date21, private},
			222,
		},
		{blocks[2], []string{":status: 200", private, date22, location, gzip, cookie}, []string{cookie, gzip, date22}, 215},
	}
}

func TestExamples(t *testing.T) {
	for _, l := range literals {
		t.Run(l.name, func(t *testing.T) { runExamples(t, defaultTable, []example{l.example}) })
	}
	for _, test := range []struct {
		name     string
		max      uint32
		examples []example
	}{
		{"C.3", defaultTable, requests(
			"8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
			"8286 84be 5808 6e6f 2d63 6163 6865",
			"8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
		)},
		{"C.4", defaultTable, requests(
			"8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
			"8286 84be 5886 a8eb 1064 9cbf",
			"8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
		)},
		{"C.5", 256, responses(
			"4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a"+
				"3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
			"4803 3330 37c1 c0bf",
			"88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04"+
				"677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49"+
				"553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
		)},
		{"C.6", 256, responses(
			"4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e"+
				"919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
			"4883 640e ffc1 c0bf",
			"88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7"+
				"821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed"+
				"4ee5 b106 3d50 07",
		)},
	} {
		t.Run(test.name, func(t *testing.T) { runExamples(t, test.max, test.examples) })
	}
}

// runExamples decodes the blocks of one connection.
func runExamples(t *testing.T, limit uint32, examples []example) {
	var d Decoder
	d.Init(int(limit))
	d.table.resize(limit)
	for i, e := range examples {
		text, fields, over, err := d.Decode(unhex(t, e.block), nil, nil, 1<<16, 100)
		if err != nil || over {
			t.Fatalf("block %d: error %v, over %v", i, err, over)
		}
		if got := decoded(text, fields); !slices.Equal(got, e.fields) {
			t.Errorf("block %d: fields %q, want %q", i, got, e.fields)
		}
		if got := d.table.contents(); !slices.Equal(got, e.table) || d.table.size != e.size {
			t.Errorf("block %d: table %q of size %d, want %q of size %d", i, got, d.table.size, e.table, e.size)
		}
	}
}
