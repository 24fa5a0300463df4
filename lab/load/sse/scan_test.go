package sse

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// record is what a Sink may receive of a record.
type record struct {
	Data, Type, ID, Extra string
	HasData, HasID        bool
	Oversized             bool
}

// gather is a Sink that stores everything, unlike a Scanner.
type gather struct {
	records  []record
	now      record
	part     [unknown]string
	retry    []string
	comments int
}

func (g *gather) Part(f Field, b []byte) { g.part[f] += string(b) }

func (g *gather) Ended(f Field) {
	v := g.part[f]
	g.part[f] = ""
	switch f {
	case Data:
		if g.now.HasData {
			g.now.Data += "\n"
		}
		g.now.Data, g.now.HasData = g.now.Data+v, true
	case Type:
		g.now.Type = v
	case ID:
		g.now.ID, g.now.HasID = v, true
	case Extra:
		g.now.Extra = v
	case Retry:
		g.retry = append(g.retry, v)
	}
}

func (g *gather) Record() {
	g.records = append(g.records, g.now)
	g.now, g.part = record{}, [unknown]string{}
}

func (g *gather) Oversized() {
	g.now = record{Oversized: true}
	g.Record()
}

func (g *gather) Comment() { g.comments++ }

// oracle parses server-sent events as in the standard, from the whole text.
func oracle(text, extra string) (g gather) {
	text = strings.TrimPrefix(text, bom)
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(text, "\n")
	if strings.HasPrefix(lines[len(lines)-1], ":") { // a comment counts as soon as its colon is read
		g.Comment()
	}
	some := false
	for _, line := range lines[:len(lines)-1] { // the last one has no end
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if some {
				g.Record()
			}
			some = false
			continue
		case name == "":
			g.Comment()
			continue
		}
		field := map[string]Field{"data": Data, "event": Type, "id": ID, "retry": Retry}
		if _, ok := field[extra]; !ok && extra != "" {
			field[extra] = Extra
		}
		if f, ok := field[name]; ok {
			some = true
			g.part[f] = value
			g.Ended(f)
		}
	}
	return g
}

// scan feeds a text in pieces.
func scan(t *testing.T, format Format, limit uint32, extra string, pieces ...[]byte) gather {
	t.Helper()
	var g gather
	s := NewScanner(format, limit)
	for _, p := range pieces {
		if err := s.Feed(p, extra, &g); err != nil {
			t.Fatal(err)
		}
	}
	g.now, g.part = record{}, [unknown]string{}
	return g
}

// pieces cuts a text at random places.
func pieces(text string, r *rand.Rand) (out [][]byte) {
	for b := []byte(text); len(b) > 0; {
		n := 1 + r.IntN(min(len(b), 7))
		out, b = append(out, b[:n]), b[n:]
	}
	return out
}

// bytewise splits a text into single bytes.
func bytewise(text string) (out [][]byte) {
	for i := range len(text) {
		out = append(out, []byte(text[i:i+1]))
	}
	return out
}

// streams are texts for the rules of the standard.
var streams = []string{
	"data: one\n\n",
	"data: YHOO\ndata: +2\ndata: 10\n\n",
	": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
	"data\n\ndata\ndata\n\ndata:",
	"data:test\n\ndata: test\n\n",
	bom + "data: after a mark\n\n",
	bom + bom + "data: a second mark is a name\n\n",
	"\xef\xbbdata: half a mark\n\n", "\xefdata: x\n\ndata: y\n\n", "\xef\n\ndata: y\n\n",
	"data: cr\r\rdata: crlf\r\n\r\ndata: mixed\r\n\ndata: lf\n\r\n",
	"event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n",
	"id: 7\n\nid: 8\x00\ndata: x\n\n",
	"retry: 3000\ndata: x\n\nretry: 3 s\n\nretry\n\n",
	"datax: no\ndat: no\nData: no\n data: no\ndata: yes\n\n",
	"data : no\n:data: no\n\n::\n:\n\n",
	"ts: 1700000000\ndata: x\n\nts:\ndata: y\n\n",
	"data: no end\n", "data: no end", "da", ":", "x\n:", "\r\n\r\n\n\n",
	"data: a\x00b\ndata:\tc: d\n\n",
	strings.Repeat("x", 300) + ": long name\ndata: x\n\n",
}

func TestEvents(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, text := range streams {
		for _, extra := range []string{"", "ts", "id"} {
			want := oracle(text, extra)
			for _, cut := range [][][]byte{{[]byte(text)}, bytewise(text), pieces(text, r)} {
				got := scan(t, Events, 0, extra, cut...)
				if got.now, got.part = want.now, want.part; !reflect.DeepEqual(got, want) {
					t.Errorf("%q in %q:\ngot  %+v\nwant %+v", text, cut, got, want)
				}
			}
		}
	}
}

func FuzzEvents(f *testing.F) {
	for i, text := range streams {
		f.Add(text, uint64(i))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		want := oracle(text, "ts")
		got := scan(t, Events, 0, "ts", pieces(text, rand.New(rand.NewPCG(seed, 0)))...)
		if got.now, got.part = want.now, want.part; !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\ngot  %+v\nwant %+v", text, got, want)
		}
	})
}

func TestLines(t *testing.T) {
	const text = "{\"a\":1}\n\n  \r\n{\"b\":2}\r\n" + `{"long":"xxxxxxxxxxxxxxxxxxxxxxxx"}` + "\n3\n{\"unfinished\""
	want := []record{
		{Data: `{"a":1}`, HasData: true},
		{Data: "  \r{\"b\":2}\r", HasData: true}, // blanks do not matter to JSON
		{Oversized: true},
		{Data: "3", HasData: true},
	}
	for _, cut := range [][][]byte{{[]byte(text)}, bytewise(text)} {
		if got := scan(t, Lines, 20, "", cut...).records; !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
}

// framed puts lengths before records.
func framed(f Format, records ...string) string {
	var b []byte
	for _, r := range records {
		if f == Varint {
			b = binary.AppendUvarint(b, uint64(len(r)))
		} else {
			b = binary.BigEndian.AppendUint32(b, uint32(len(r)))
		}
		b = append(b, r...)
	}
	return string(b)
}

func TestFrames(t *testing.T) {
	long := strings.Repeat("y", 300)
	for _, f := range []Format{Length4, Varint} {
		text := framed(f, "one", "", long, "four", "five")
		text = text[:len(text)-1]
		want := []record{
			{Data: "one", HasData: true},
			{HasData: true},
			{Oversized: true},
			{Data: "four", HasData: true},
		}
		for _, cut := range [][][]byte{{[]byte(text)}, bytewise(text)} {
			if got := scan(t, f, 299, "", cut...).records; !reflect.DeepEqual(got, want) {
				t.Errorf("format %d:\ngot  %+v\nwant %+v", f, got, want)
			}
		}
		want[2] = record{Data: long, HasData: true}
		if got := scan(t, f, 300, "", []byte(text)).records; !reflect.DeepEqual(got, want) {
			t.Errorf("format %d at its limit:\ngot  %+v\nwant %+v", f, got, want)
		}
	}
}

func TestVarintOfTooManyBits(t *testing.T) {
	s := NewScanner(Varint, 10)
	var g gather
	if err := s.Feed(bytes.Repeat([]byte{0xff}, 9), "", &g); err != nil {
		t.Fatalf("nine bytes: %v", err)
	}
	for range 2 { // it stays that way
		if err := s.Feed([]byte{1}, "", &g); err != ErrFraming {
			t.Fatalf("the tenth: %v, want %v", err, ErrFraming)
		}
	}
	s.Reset()
	if err := s.Feed([]byte("\x01x"), "", &g); err != nil || len(g.records) != 1 {
		t.Fatalf("a new connection: %v, %d records", err, len(g.records))
	}
	// The longest valid length must not overflow.
	s.Reset()
	longest := binary.AppendUvarint(nil, 1<<63-1)
	if err := s.Feed(append(longest, "xyz"...), "", &g); err != nil || len(g.records) != 1 {
		t.Fatalf("the longest record: %v, %d records", err, len(g.records))
	}
}

func TestLimitOfEvents(t *testing.T) {
	const text = "data: 1234567\nid: 1\n\ndata: 12345\ndata: 67890\n\n: long comments do not count\nignored: nor these\ndata: ok\n\n"
	want := []record{
		{Data: "1234567", HasData: true, ID: "1", HasID: true},
		{Oversized: true},
		{Data: "ok", HasData: true},
	}
	for _, cut := range [][][]byte{{[]byte(text)}, bytewise(text)} {
		if got := scan(t, Events, 8, "", cut...).records; !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
}

func TestResetReportsACut(t *testing.T) {
	for _, c := range []struct {
		format Format
		text   string
		cut    bool
	}{
		{Events, "", false},
		{Events, "data: x\n\n", false},
		{Events, "\r\n", false},
		{Events, ": comm", false},
		{Events, ":\n", false},
		{Events, "d", true},
		{Events, "data: x", true},
		{Events, "data: x\n", true},
		{Events, "id: 1\n", true},
		{Lines, "1\n", false},
		{Lines, "1\n  ", false},
		{Lines, "1", true},
		{Length4, "\x00\x00\x00\x01x", false},
		{Length4, "\x00", true},
		{Length4, "\x00\x00\x00\x02x", true},
		{Varint, "\x00", false},
		{Varint, "\x80", true},
		{Varint, "\x02x", true},
	} {
		s := NewScanner(c.format, 0)
		if err := s.Feed([]byte(c.text), "", &gather{}); err != nil {
			t.Fatal(err)
		}
		if got := s.Reset(); got != c.cut {
			t.Errorf("format %d, %q: cut is %v", c.format, c.text, got)
		}
	}
}

func ExampleScanner() {
	s := NewScanner(Events, 1<<20)
	var g gather
	for _, read := range []string{"id: 1\nda", "ta: {\"ts\":", " 5}\n", "\n"} {
		if err := s.Feed([]byte(read), "", &g); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(g.records[0].ID, g.records[0].Data)
	// Output: 1 {"ts": 5}
}
