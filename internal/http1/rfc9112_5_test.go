package http1

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redline-go/redline/internal/exchange"
)

// Field lines.

func TestFieldRefused(t *testing.T) {
	checkRefusals(t, []refusal{
		{"5.1, fasthttp#2187 space before the colon", get("A : b\r\n"), ErrFieldName},
		{"5.1, CVE-2019-16276 in a framing field", post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"), ErrFieldName},
		{"5.1 tab before the colon", get("A\t: b\r\n"), ErrFieldName},
		{"5.1 empty name", get(": b\r\n"), ErrFieldName},
		{"5.1 no colon", get("A\r\n"), ErrFieldName},
		{"5.1 no colon, then a line with one", get("A\r\nB: c\r\n"), ErrFieldName},
		{"5.1 space in the name", get("A B: c\r\n"), ErrFieldName},
		{"5.1 NUL in the name", get("A\x00: b\r\n"), ErrFieldName},
		{"5.1 CR in the name", get("A\r: b\r\n"), ErrFieldName},
		{"5.1 CR for a dash in a known name", get("Content\rLength: 5\r\n"), ErrFieldName},
		{"5.1 LF in the name", get("A\nB: c\r\n"), ErrFieldName},
		{"5.1 obs-text in the name", get("A\x80: b\r\n"), ErrFieldName},
		{"5.1 separators in the name", get("A(b): c\r\n"), ErrFieldName},
		{"5.1 long name, bad at the end", get(strings.Repeat("a", 100) + "(: c\r\n"), ErrFieldName},
		{"5.2, golang/go#65244 folded with a space", get("A: b\r\n c\r\n"), ErrFold},
		{"5.2 folded with a tab", get("A: b\r\n\tc\r\n"), ErrFold},
		{"5.2 folded, blank", get("A: b\r\n \r\n"), ErrFold},
		{"5.2 folded framing field: its first line is refused", post("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n"), ErrCoding},
		{"5.2 framing field with a folded tail", post("Transfer-Encoding: chunked\r\n , identity\r\n", "0\r\n\r\n"), ErrFold},
		{"RFC 9110, 5.5 NUL", get("A: b\x00c\r\n"), ErrFieldValue},
		{"RFC 9110, 5.5 CR", get("A: b\rc\r\n"), ErrLineEnd},
		{"RFC 9110, 5.5 CR CR LF", get("A: b\r\r\n"), ErrLineEnd},
		{"RFC 9110, 5.5 LF", get("A: b\nc\r\n"), ErrLineEnd},
		{"RFC 9110, 5.5 DEL", get("A: \x7f\r\n"), ErrFieldValue},
		{"RFC 9110, 5.5 ESC", get("A: b\x1b\r\n"), ErrFieldValue},
		{"RFC 9110, 5.5 late in a long value", get("A: " + strings.Repeat("v", 2000) + "\x01\r\n"), ErrFieldValue},
	})
}

// TestFieldControlCharacters puts every byte into a name and a value.
func TestFieldControlCharacters(t *testing.T) {
	for i := range 256 {
		c := byte(i)
		name := read(exchange.Limits{}, get("A"+string([]byte{c})+"B: v\r\n"), nil)
		if token := strings.IndexByte("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz:", c) >= 0; (name.code == Complete) != token {
			t.Errorf("byte %#02x in a name: %q", c, name.code)
		}
		value := read(exchange.Limits{}, get("A: b"+string([]byte{c})+"c\r\n"), nil)
		if text := c == '\t' || c >= ' ' && c != 0x7f; (value.code == Complete) != text {
			t.Errorf("byte %#02x in a value: %q", c, value.code)
		}
	}
}

func TestFieldAccepted(t *testing.T) {
	const start = "GET / path=/ host=h 1.1 len=0|Host:h"
	long := strings.Repeat("v", 3000)
	checkAcceptances(t, []acceptance{
		{"5.1 no whitespace", get("A:b\r\n"), start + "|A:b"},
		{"5.1 whitespace around", get("A: \t b c \t \r\n"), start + "|A:b c"},
		{"5.1 empty value", get("A:\r\n"), start + "|A:"},
		{"5.1 blank value", get("A: \t \r\n"), start + "|A:"},
		{"5.1 colons in the value", get("A: b:c:\r\n"), start + "|A:b:c:"},
		{"RFC 9110, 5.5 obs-text, tab", get("A: \x80\t\xff\r\n"), start + "|A:\x80\t\xff"},
		{"RFC 9110, 5.3 order", get("B: 1\r\nA: 2\r\nb: 3\r\n"), start + "|B:1|A:2|b:3"},
		{"long value", get("A: " + long + "\r\nB: c\r\n"), start + "|A:" + long + "|B:c"},
		{"long name", get(strings.Repeat("n", 200) + ": c\r\n"), start + "|" + strings.Repeat("n", 200) + ":c"},
	})
}

// TestWindowSeams moves a line over the end of the scanner's window.
func TestWindowSeams(t *testing.T) {
	for pad := 980; pad < 1060; pad++ {
		in := get("A: " + strings.Repeat("p", pad) + "\r\nContent-Type: x/y\r\nX-Z: \r\n")
		want := "GET / path=/ host=h 1.1 len=0|Host:h|A:" + strings.Repeat("p", pad) + "|Content-Type:x/y|X-Z:"
		if o := read(exchange.Limits{}, in, nil); o.code != Complete || o.head != want {
			t.Fatalf("pad %d: %q %s", pad, o.code, o.head)
		}
		for at := len(in) - 40; at < len(in); at++ {
			if o := read(exchange.Limits{}, in, []int{at}); o.head != want {
				t.Fatalf("pad %d, split at %d: %q %s", pad, at, o.code, o.head)
			}
		}
	}
}

// TestManyFields spills over the record's inline array, and uses the record again.
func TestManyFields(t *testing.T) {
	var p Parser
	p.Init(exchange.Limits{})
	var r exchange.Request
	for _, count := range []int{100, 3, 127, 40} {
		var lines strings.Builder
		for i := range count {
			fmt.Fprintf(&lines, "X-%d: %d\r\n", i, i)
		}
		if _, code := p.Parse(&r, []byte(get(lines.String()))); code != Complete || len(r.Fields) != count+1 {
			t.Fatalf("%d fields: %q, %d", count, code, len(r.Fields))
		}
		for i, f := range r.Fields[1:] {
			if string(f.Value.In(r.Head)) != fmt.Sprint(i) {
				t.Fatalf("field %d: %q", i, f.Value.In(r.Head))
			}
		}
	}
}
