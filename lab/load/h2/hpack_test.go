package h2

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
)

func TestHuffman(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		s := make([]byte, random.IntN(40))
		for j := range s {
			s[j] = byte(random.UintN(256))
			if i%2 == 0 {
				s[j] = byte(' ' + random.UintN(95))
			}
		}
		want := hpack.AppendHuffmanString(nil, string(s))
		got := appendHuffman(nil, s)
		if !bytes.Equal(got, want) || huffmanSize(s) != len(want) {
			t.Fatalf("%q is %x, want %x", s, got, want)
		}
		back, valid := unhuffman(nil, got)
		if !valid || !bytes.Equal(back, s) {
			t.Fatalf("%x is %q, %v, want %q", got, back, valid, s)
		}
	}
}

// The end of an encoded string, RFC 7541, section 5.2.
func TestHuffmanPadding(t *testing.T) {
	for _, tt := range []struct {
		in    []byte
		valid bool
	}{
		{nil, true},
		{[]byte{0x07}, true},  // '0', 111
		{[]byte{0x06}, false}, // padding with a zero
		{[]byte{0xff}, false}, // 8 ones
		{[]byte{0x07, 0xff}, false},
		{[]byte{0xff, 0xff, 0xff, 0xff}, false}, // EOS
		{[]byte{0xff, 0xff, 0xff, 0xfc}, false}, // EOS, and a zero
	} {
		if _, valid := unhuffman(nil, tt.in); valid != tt.valid {
			t.Errorf("%x: %v", tt.in, valid)
		}
	}
}

// decoded returns the fields of the last decode.
func decoded(c *Conn, want []string) (s string) {
	s = fmt.Sprintf("%d %d", c.decoder.head.Status, c.decoder.head.Length)
	for i, name := range want {
		s += fmt.Sprintf(" %s=%q", name, c.decoder.head.values[i])
	}
	return s
}

// Blocks of another encoder, with a dynamic table that fills, evicts and changes
// its size, decode to the encoded fields.
func TestDecode(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	names := []string{"server", "x-a", "content-type", "x-request-id", "etag", "a-rather-long-name-of-a-field"}
	c := client(t, Settings{Want: names}).New(&record{})
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for i := range 5000 {
		if random.IntN(50) == 0 {
			e.SetMaxDynamicTableSize(uint32(random.IntN(tableSize + 1)))
		}
		b.Reset()
		status := 200 + random.IntN(400)
		put := func(name, value string) {
			if err := e.WriteField(hpack.HeaderField{Name: name, Value: value, Sensitive: random.IntN(9) == 0}); err != nil {
				t.Fatal(err)
			}
		}
		put(":status", fmt.Sprint(status))
		put("content-length", fmt.Sprint(i))
		want := fmt.Sprintf("%d %d", status, i)
		for _, name := range names {
			value := strings.Repeat(fmt.Sprint(random.IntN(4)), random.IntN(90))
			if random.IntN(20) == 0 {
				value = strings.Repeat("z", random.IntN(2*tableSize)) // larger than the table, perhaps
			}
			want += fmt.Sprintf(" %s=%q", name, value)
			put(name, value)
		}
		if problem := c.decoder.decode(b.Bytes(), false); problem != 0 || c.decoder.wrong != "" {
			t.Fatalf("block %d: %v, %s", i, problem, c.decoder.wrong)
		}
		if got := decoded(c, names); got != want {
			t.Fatalf("block %d:\n got %s\nwant %s", i, got, want)
		}
	}
	if n := cap(c.decoder.table.arena); n > 4*tableSize {
		t.Errorf("the arena has %d bytes", n)
	}
}

// Empty entries fill the table by their overhead alone.
func TestDecodeEmptyEntries(t *testing.T) {
	c := client(t, Settings{}).New(&record{})
	for range 1000 {
		if problem := c.decoder.decode(bytes.Repeat([]byte{0x40, 0, 0}, 100), false); problem != 0 {
			t.Fatal(problem)
		}
	}
	if tab := &c.decoder.table; tab.live() != tableSize/entryExtra || cap(tab.entries) > 2*mostEntries {
		t.Errorf("%d entries, %d places", tab.live(), cap(tab.entries))
	}
}

func TestDecodeInvalid(t *testing.T) {
	for name, in := range map[string][]byte{
		"index 0":                       {0x80},
		"index beyond the tables":       {0xbe},
		"index without an end":          {0xff, 0x80},
		"index without bound":           {0xff, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01},
		"name beyond the tables":        {0x7e, 0},
		"name cut off":                  {0x40, 2, 'a'},
		"value missing":                 {0x40, 1, 'a'},
		"value cut off":                 {0x40, 1, 'a', 1},
		"EOS":                           {0x40, 1, 'a', 0x84, 0xff, 0xff, 0xff, 0xff},
		"size after a field":            {0x88, 0x20},
		"size beyond the setting":       {0x3f, 0xe2, 0x1f},
		"size cut off":                  {0x3f},
		"entry that was evicted":        {0x40, 1, 'a', 1, 'b', 0xbe, 0x20},
		"entry of a table without room": {0x20, 0x40, 1, 'a', 1, 'b', 0xbe},
	} {
		c := client(t, Settings{}).New(&record{})
		if got := c.decoder.decode(in, false); got != Compression {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A block that repeats the last is skipped only while it has the same meaning.
func TestRepeated(t *testing.T) {
	rec := record{want: 1}
	c := begun(t, Settings{Want: []string{"server"}}, &rec, 10)
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	id := uint32(1)
	send := func(server string) {
		b.Reset()
		for _, f := range []hpack.HeaderField{{Name: ":status", Value: "200"}, {Name: "server", Value: server}} {
			if err := e.WriteField(f); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Feed(raw(frameHeaders, 5, id, b.Bytes())); err != nil {
			t.Fatal(err)
		}
		id += 2
	}
	send("one") // inserted
	send("one") // index 62: kept
	if len(c.last) == 0 {
		t.Error("a block that is all indices is not kept")
	}
	send("one") // repeats
	send("two") // inserted, which makes it 62
	send("two") // the same bytes as before, with another meaning
	send("two")
	var got []string
	for _, e := range rec.events {
		if strings.Contains(e, "head") {
			got = append(got, e[strings.Index(e, `"`):])
		}
	}
	if want := []string{`"one"`, `"one"`, `"one"`, `"two"`, `"two"`, `"two"`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// decoderOf returns a server's decoder, and a function that decodes requests.
func requestFields(t *testing.T, d *hpack.Decoder, frame []byte) (out []string) {
	t.Helper()
	var block []byte
	for len(frame) > 0 {
		h := parseHead(frame)
		if h.typ == frameHeaders || h.typ == frameContinuation {
			block = append(block, frame[frameHeader:frameHeader+h.length]...)
		}
		frame = frame[frameHeader+h.length:]
	}
	list, err := d.DecodeFull(block)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		out = append(out, f.Name+"="+f.Value)
	}
	return out
}

func TestEncode(t *testing.T) {
	c := begun(t, Settings{Streams: 1000}, &record{}, 0)
	d := hpack.NewDecoder(tableSize, nil)
	varies := get(t, 0, Field{Name: "X-Request-ID", Vary: true}, Field{Name: "authorization", Value: []byte("secret"), Never: true}, Field{Name: "accept", Value: []byte("*/*")})
	constant := get(t, 1, Field{Name: "User-Agent", Value: []byte("redline")}, Field{Name: "accept", Value: []byte("*/*")})
	base := []string{":method=GET", ":scheme=http", ":authority=localhost:8080", ":path=/"}
	send := func(r *Request, want ...string) int {
		t.Helper()
		slot, out := c.AppendRequest(nil, r)
		if slot < 0 {
			t.Fatal("no room")
		}
		if got := requestFields(t, d, out); !slices.Equal(got, append(base[:4:4], want...)) {
			t.Fatalf("got %q", got)
		}
		return len(out) - frameHeader
	}
	for i := range 20 {
		id := fmt.Sprintf("id-%d", i)
		varies.Set(4, []byte(id))
		send(varies, "x-request-id="+id, "authorization=secret", "accept=*/*")
		if n := send(constant, "user-agent=redline", "accept=*/*"); i > 0 && n != 6 {
			t.Errorf("a request that came before takes %d bytes", n)
		}
	}
	// A smaller limit empties the table; with a limit of 0 it remains empty.
	for _, limit := range []uint32{100, 0, 1 << 20} {
		if err := c.Feed(raw(frameSettings, 0, 0, setting(setHeaderTable, limit))); err != nil {
			t.Fatal(err)
		}
		d.SetAllowedMaxDynamicTableSize(limit)
		for range 3 {
			send(constant, "user-agent=redline", "accept=*/*")
		}
		if c.encoder.size > int(limit) {
			t.Errorf("a table of %d where %d is allowed", c.encoder.size, limit)
		}
	}
}

// Fields that do not fit into the table are literals, and a block larger than a frame is
// split.
func TestEncodeLarge(t *testing.T) {
	c := begun(t, Settings{}, &record{}, 0)
	d := hpack.NewDecoder(tableSize, nil)
	var more []Field
	want := []string{":method=GET", ":scheme=http", ":authority=localhost:8080", ":path=/"}
	for i := range 30 {
		f := Field{Name: fmt.Sprintf("x-%d", i), Value: bytes.Repeat([]byte("~"), 1500)}
		more = append(more, f)
		want = append(want, f.Name+"="+string(f.Value))
	}
	r := get(t, 0, more...)
	for range 3 {
		_, out := c.AppendRequest(nil, r)
		if got := requestFields(t, d, out); !slices.Equal(got, want) {
			t.Fatal("another request arrives")
		}
		for i, f := range frames(t, out) {
			if i == 0 && !strings.HasPrefix(f, "frame 1 ") || i > 0 && !strings.HasPrefix(f, "frame 9 ") {
				t.Errorf("frame %d is %s", i, f)
			}
		}
	}
	if c.encoder.size > tableSize {
		t.Errorf("a table of %d bytes", c.encoder.size)
	}
}

func TestNewRequest(t *testing.T) {
	good := []Field{{Name: ":method", Value: []byte("GET")}, {Name: ":scheme", Value: []byte("http")}, {Name: ":path", Value: []byte("/")}}
	for _, tt := range []struct {
		name   string
		fields []Field
		size   int64
		want   string
	}{
		{"good", good, 0, ""},
		{"no path", good[:2], 0, "needs :path"},
		{"twice", append(good[:3:3], good[0]), 0, "occurs twice"},
		{"unknown", append(good[:3:3], Field{Name: ":status"}), 0, "has no field :status"},
		{"order", append([]Field{{Name: "a"}}, good...), 0, "comes after other fields"},
		{"host", append(good[:3:3], Field{Name: "Host"}), 0, "use :authority instead of host"},
		{"connection", append(good[:3:3], Field{Name: "Connection"}), 0, "is specific to HTTP/1.1 connections"},
		{"name", append(good[:3:3], Field{Name: "a b"}), 0, "is no field name"},
		{"value", append(good[:3:3], Field{Name: "a", Value: []byte("b\r\nc: d")}), 0, "has line breaks"},
		{"content out of nothing", good, 1, "content of 1 bytes out of 0"},
	} {
		_, err := NewRequest(0, tt.fields, nil, tt.size)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
