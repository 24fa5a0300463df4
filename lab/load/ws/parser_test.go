package ws

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// seen writes down what a Parser reports.
type seen struct {
	strings.Builder
	part []byte
}

func (s *seen) Part(b []byte) { s.part = append(s.part, b...) }

func (s *seen) Message() {
	fmt.Fprintf(s, "message %d %.10q\n", len(s.part), s.part)
	s.part = nil
}

func (s *seen) Control(op byte, b []byte) { fmt.Fprintf(s, "control %d %q\n", op, b) }

func TestParser(t *testing.T) {
	long, longer := strings.Repeat("x", 300), strings.Repeat("y", 70_000)
	tests := []struct {
		name, in, want string
		fails          bool
	}{
		{"text", "\x81\x02hi", "message 2 \"hi\"\n", false},
		{"binary, empty", "\x82\x00", "message 0 \"\"\n", false},
		{"two", "\x81\x01a\x81\x01b", "message 1 \"a\"\nmessage 1 \"b\"\n", false},
		{"two bytes of length", "\x81\x7e\x01\x2c" + long, "message 300 \"xxxxxxxxxx\"\n", false},
		{"eight bytes of length", "\x81\x7f\x00\x00\x00\x00\x00\x01\x11\x70" + longer, "message 70000 \"yyyyyyyyyy\"\n", false},
		{"fragments", "\x01\x01a\x00\x01b\x80\x01c", "message 3 \"abc\"\n", false},
		{"ping within fragments", "\x01\x01a\x89\x02hi\x80\x01c", "control 9 \"hi\"\nmessage 2 \"ac\"\n", false},
		{"close", "\x88\x02\x03\xe8", "control 8 \"\\x03\\xe8\"\n", false},
		{"empty pong", "\x8a\x00\x81\x01a", "control 10 \"\"\nmessage 1 \"a\"\n", false},
		{"masked", "\x81\x81\x00\x00\x00\x00a", "", true},
		{"reserved bits", "\xc1\x01a", "", true},
		{"unknown opcode", "\x83\x01a", "", true},
		{"unknown control", "\x8b\x01a", "", true},
		{"fragmented ping", "\x09\x01a", "", true},
		{"long ping", "\x89\x7e\x00\x80" + strings.Repeat("p", 128), "", true},
		{"continuation without a beginning", "\x80\x01a", "", true},
		{"message within a message", "\x01\x01a\x81\x01b", "", true},
		{"length in too many bytes", "\x81\x7e\x00\x05hello", "", true},
		{"length in far too many bytes", "\x81\x7f\x00\x00\x00\x00\x00\x00\x01\x2c" + long, "", true},
		{"64 bits of length", "\x81\x7f\x80\x00\x00\x00\x00\x00\x00\x00", "", true},
	}
	for _, test := range tests {
		for _, size := range []int{1, 2, 3, 7, len(test.in)} { // bytes of a read
			var p Parser
			var got seen
			var err error
			for in := []byte(test.in); len(in) > 0 && err == nil; {
				n := min(size, len(in))
				err = p.Feed(in[:n], &got)
				in = in[n:]
			}
			if got.String() != test.want || (err != nil) != test.fails || err != nil && !errors.Is(err, ErrProtocol) {
				t.Errorf("%s in reads of %d: %q, %v; want %q, error %v", test.name, size, got.String(), err, test.want, test.fails)
			}
			if err == nil && p.Begun() {
				t.Errorf("%s: a frame is not complete", test.name)
			}
		}
	}
}

func TestBegun(t *testing.T) {
	for in, want := range map[string]bool{"\x81": true, "\x81\x02h": true, "\x01\x01a": true, "\x81\x01a": false} {
		var p Parser
		if err := p.Feed([]byte(in), new(seen)); err != nil || p.Begun() != want {
			t.Errorf("%q: begun %v, %v", in, p.Begun(), err)
		}
		if p.Reset(); p.Begun() {
			t.Errorf("%q: begun after Reset", in)
		}
	}
}

// The example of RFC 6455, section 1.3.
func TestAccept(t *testing.T) {
	if got := Accept("dGhlIHNhbXBsZSBub25jZQ=="); got != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		t.Error(got)
	}
}

// The example of RFC 6455, section 5.7, and the three forms of the length.
func TestAppendFrame(t *testing.T) {
	mask := [4]byte{0x37, 0xfa, 0x21, 0x3d}
	if got := AppendText(nil, []byte("Hello"), mask); string(got) != "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58" {
		t.Errorf("%x", got)
	}
	for n, head := range map[int]string{125: "\x8a\xfd", 126: "\x8a\xfe\x00\x7e", 65536: "\x8a\xff\x00\x00\x00\x00\x00\x01\x00\x00"} {
		got := AppendFrame(nil, Pong, make([]byte, n), mask)
		if !bytes.HasPrefix(got, []byte(head)) || len(got) != len(head)+4+n {
			t.Errorf("%d bytes: %x", n, got[:12])
		}
	}
}

// However frames are split, the same messages are found, and nothing panics.
func FuzzParser(f *testing.F) {
	for _, in := range []string{"\x81\x02hi", "\x01\x01a\x89\x02hi\x80\x01c", "\x81\x7e\x01\x2c", "\x88\x02\x03\xe8"} {
		f.Add([]byte(in), uint8(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		var whole, split Parser
		var a, b seen
		err := whole.Feed(in, &a)
		for rest := in; len(rest) > 0; {
			n := min(int(size)+1, len(rest))
			if split.Feed(rest[:n], &b) != nil {
				break
			}
			rest = rest[n:]
		}
		if a.String() != b.String() || err == nil && whole.Begun() != split.Begun() {
			t.Errorf("whole %q, split %q", a.String(), b.String())
		}
	})
}
