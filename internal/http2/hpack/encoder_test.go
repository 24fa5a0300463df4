package hpack

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	oracle "golang.org/x/net/http2/hpack"
)

func TestStaticNames(t *testing.T) {
	for i, l := range staticLines {
		want := uint8(slices.IndexFunc(staticLines[:], func(m struct{ name, value string }) bool { return m.name == l.name }) + 1)
		for _, name := range []string{l.name, strings.ToUpper(l.name)} {
			if got := staticName(name); got != want {
				t.Errorf("%s: %d, want %d", name, got, want)
			}
		}
		if m := staticMatch(want, l.value); l.value != "" && int(m) != i+1 {
			t.Errorf("%s: %s is line %d, want %d", l.name, l.value, m, i+1)
		}
		for at := range l.name {
			other := l.name[:at] + "z" + l.name[at+1:]
			if got := staticName(other); got != 0 && l.name[at] != 'z' {
				t.Errorf("%s: %d, want none", other, got)
			}
		}
		if got := staticName(l.name + "s"); got != 0 && l.name+"s" != staticLines[got-1].name {
			t.Errorf("%ss: %d, want none", l.name, got)
		}
	}
	for _, name := range []string{"", "a", "ag", "x-request-id", strings.Repeat("a", 100)} {
		if got := staticName(name); got != 0 {
			t.Errorf("%q: %d, want none", name, got)
		}
	}
}

func TestLowerCase(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	want := slices.Clone(all)
	for c := 'A'; c <= 'Z'; c++ {
		want[c] += 'a' - 'A'
	}
	for from := range 9 {
		if got := appendLower(nil, string(all[from:])); string(got) != string(want[from:]) {
			t.Errorf("from byte %d: %x, want %x", from, got, want[from:])
		}
	}
}

// TestHuffman compares every pair of bytes, and long strings of them, with the oracle.
func TestHuffman(t *testing.T) {
	check := func(s string) {
		b := appendHuffman(nil, s)
		if want := oracle.AppendHuffmanString(nil, s); string(b) != string(want) || len(b) != huffmanLength(s) {
			t.Fatalf("%q: %x of length %d, want %x", s, b, huffmanLength(s), want)
		}
		dst := make([]byte, 1, 1+huffmanRoom(len(b)))
		if got, code := appendHuffmanDecoded(dst, b); code != 0 || string(got[1:]) != s {
			t.Fatalf("%x: %q, %v, want %q", b, got[1:], code, s)
		}
	}
	var all strings.Builder
	for i := range 256 {
		for j := range 256 {
			s := string([]byte{byte(i), byte(j)})
			check(s)
			all.WriteString(s)
		}
	}
	check(all.String())
	for n := range 300 {
		check(strings.Repeat("e", n))
	}
}

// TestChoices has blocks of one connection, each with one line.
func TestChoices(t *testing.T) {
	for name, test := range map[string]struct {
		lines []string
		want  []string // hexadecimal
	}{
		"static":              {[]string{":method: POST", ":path: /index.html", "accept-encoding: gzip, deflate"}, []string{"83", "85", "90"}},
		"rarely changes":      {[]string{"Server: a", "server: a", "Server: b", "Server: b"}, []string{"76 01 61", "be", "76 01 62", "be"}},
		"changes":             {[]string{"ETag: 00000000", "ETag: 00000000", "ETag: 00000000", "ETag: 00000001"}, []string{"0f13 08 3030303030303030", "62 85 0000000000", "be", "0f13 08 3030303030303031"}},
		"changes, short":      {[]string{"Age: 1234567", "Age: 1234567", "Age: 1234567"}, []string{"0f06 07 31323334353637", "0f06 07 31323334353637", "0f06 07 31323334353637"}},
		"unknown name":        {[]string{"X-A: a", "X-A: a", "X-A: a", "x-a: b"}, []string{"00 03 782d61 01 61", "40 03 782d61 01 61", "be", "00 03 782d61 01 62"}},
		"Set-Cookie":          {[]string{"Set-Cookie: a", "Set-Cookie: a", "Set-Cookie: a"}, []string{"1f28 01 61", "1f28 01 61", "1f28 01 61"}},
		"Authorization":       {[]string{"authorization: a", "authorization: a"}, []string{"1f08 01 61", "1f08 01 61"}},
		"Proxy-Authorization": {[]string{"Proxy-Authorization: a", "Proxy-Authorization: a"}, []string{"1f22 01 61", "1f22 01 61"}},
		"short cookie":        {[]string{"cookie: a", "cookie: a"}, []string{"1f11 01 61", "1f11 01 61"}},
		"long cookie":         {[]string{"cookie: " + strings.Repeat("0", 20), "cookie: " + strings.Repeat("0", 20)}, []string{"60 8d" + strings.Repeat("00", 12) + "0f", "be"}},
		"Huffman":             {[]string{"cache-control: no-cache"}, []string{"58 86 a8eb10649cbf"}},
	} {
		t.Run(name, func(t *testing.T) {
			var e Encoder
			e.Init()
			for i, line := range test.lines {
				name, value, _ := strings.Cut(line[1:], ": ")
				got := hex.EncodeToString(e.Field(e.Begin(nil), line[:1]+name, value))
				if want := strings.ReplaceAll(test.want[i], " ", ""); got != want {
					t.Errorf("%s: %s, want %s", line, got, want)
				}
			}
		})
	}
}

func TestStatus(t *testing.T) {
	var e Encoder
	e.Init()
	b := e.Begin(nil)
	var want []string
	for range 2 {
		for code := 100; code < 600; code++ {
			b = e.Status(b, code)
			want = append(want, ":status: "+string([]byte{'0' + byte(code/100), '0' + byte(code/10%10), '0' + byte(code%10)}))
		}
	}
	if got, err := oracleLines(oracle.NewDecoder(defaultTable, nil), b); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	b = e.Status(e.Begin(nil), 201)
	if b = e.Status(b[:0], 201); len(b) != 1 {
		t.Errorf("a status that repeats takes %d bytes", len(b))
	}
}

func TestPeerTable(t *testing.T) {
	for name, test := range map[string]struct {
		sizes []uint32
		want  string
	}{
		"the same":                 {[]uint32{4096}, ""},
		"larger":                   {[]uint32{65536}, ""},
		"smaller":                  {[]uint32{1024}, "3fe107"},
		"none":                     {[]uint32{0}, "20"},
		"smaller and back":         {[]uint32{0, 65536}, "203fe11f"},
		"smaller and partly back":  {[]uint32{100, 50, 200}, "203fa901"},
		"smaller in several steps": {[]uint32{200, 100, 50}, "3f13"},
	} {
		t.Run(name, func(t *testing.T) {
			var e Encoder
			e.Init()
			for _, size := range test.sizes {
				e.SetPeerTable(size)
			}
			if got := hex.EncodeToString(e.Begin(nil)); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
			if got := e.Begin(nil); len(got) != 0 {
				t.Errorf("%x in the next block, want nothing", got)
			}
		})
	}
}

// TestChangingValues has a value that is different in every block; the lines that repeat stay
// in the table.
func TestChangingValues(t *testing.T) {
	var e Encoder
	e.Init()
	var b []byte
	for i := range 10_000 {
		b = e.Begin(b[:0])
		id := "00000000-0000-" + hex.EncodeToString([]byte{byte(i), byte(i >> 8)})
		b = e.Field(b, "X-Request-Id", id)
		b = e.Field(b, "ETag", id)
		b = e.Field(b, "Location", "/items/"+id)
		before := len(b)
		b = e.Field(b, "Content-Type", "application/json")
		b = e.Field(b, "X-Content-Type-Options", "nosniff")
		if got := len(b) - before; i > 1 && got != 2 {
			t.Fatalf("block %d: lines that repeat take %d bytes, want 2", i, got)
		}
	}
	if e.table.count > 10 {
		t.Errorf("%d lines entered the table", e.table.count)
	}
}
