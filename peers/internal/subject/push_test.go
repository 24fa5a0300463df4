package subject

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

func TestTopic(t *testing.T) {
	for text, valid := range map[string]bool{"": false, "a": true, strings.Repeat("x", 256): true, strings.Repeat("x", 257): false} {
		if _, err := Topic(text); (err == nil) != valid {
			t.Errorf("topic of %d bytes: %v", len(text), err)
		}
	}
}

func TestPublished(t *testing.T) {
	tests := []struct{ body, want string }{
		{"x", "data: x\n\n"},
		{`{"ts":1}`, "data: {\"ts\":1}\n\n"},
		{"", ""},
		{"a\nb", ""},
		{"a\rb", ""},
		{strings.Repeat("x", MaxPublish+1), ""},
	}
	for _, test := range tests {
		got, err := Published([]byte(test.body))
		if string(got) != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%.20q: %.40q, %v", test.body, got, err)
		}
	}
}

func TestFeed(t *testing.T) {
	for _, format := range []string{"", "xml", "JSON"} {
		if _, err := ParseFeed("", "", format); err == nil {
			t.Errorf("format %q is taken", format)
		}
	}
	if _, err := ParseFeed("soon", "", "json"); err == nil {
		t.Error("a bad interval is taken")
	}
	now := time.Unix(1763721234, 567890123)
	f, err := ParseFeed("10ms", "64", "json")
	if err != nil || f.Interval != 10*time.Millisecond || f.Type != EventStream {
		t.Fatalf("%+v, %v", f, err)
	}
	ticks := f.NewTicks()
	ticks.Next(now)
	var got Tick
	text, ok := bytes.CutPrefix(bytes.TrimSuffix(ticks.Next(now), []byte("\n\n")), []byte("data: "))
	if err := json.Unmarshal(text, &got); !ok || err != nil || got != (Tick{now.UnixNano(), 2, strings.Repeat("x", 64)}) {
		t.Errorf("second event %q: %+v, %v", text, got, err)
	}
}

func TestDelimited(t *testing.T) {
	f, err := ParseFeed("", "1024", "protobuf")
	if err != nil || f.Type != Delimited {
		t.Fatalf("%+v, %v", f, err)
	}
	now := time.Unix(1763721234, 567890123)
	in := f.NewTicks().Next(now)
	message, n := protowire.ConsumeBytes(in) // a varint and that many bytes
	if n != len(in) {
		t.Fatalf("%d of %d bytes are the message", n, len(in))
	}
	num, kind, n := protowire.ConsumeTag(message)
	at, k := protowire.ConsumeFixed64(message[n:])
	if num != 1 || kind != protowire.Fixed64Type || int64(at) != now.UnixNano() {
		t.Errorf("field %d of kind %d: %d", num, kind, at)
	}
	message = message[n+k:]
	num, _, n = protowire.ConsumeTag(message)
	seq, k := protowire.ConsumeVarint(message[n:])
	if num != 2 || seq != 1 {
		t.Errorf("field %d: %d", num, seq)
	}
	message = message[n+k:]
	num, _, n = protowire.ConsumeTag(message)
	if text, k := protowire.ConsumeString(message[n:]); num != 3 || len(text) != 1024 || n+k != len(message) {
		t.Errorf("field %d: %d bytes", num, len(text))
	}
}
