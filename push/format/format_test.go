package format_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/redline-go/redline/push/format"
	"github.com/redline-go/redline/push/pushtest"
)

var formats = []format.Format{format.SSE, format.SSE.(format.Topical).Topical(), format.NDJSON, format.Protobuf}

func TestEvents(t *testing.T) {
	e := &format.Event{Topic: "orders/1", ID: "7", Type: "paid", Data: []byte("{\"a\": 1}")}
	lines := &format.Event{Topic: "t", ID: "i", Data: []byte("a\nb\r\nc\rd")}
	pretty := &format.Event{Topic: "t", ID: "i", Data: []byte("{\n  \"a\": [1, 2]\n}\n")}
	quoted := &format.Event{Topic: "t", ID: "i", Data: []byte(" \"hello\"\n")}
	binary := &format.Event{Topic: "t", ID: "i", Data: []byte{0xff, 0}}
	for _, c := range []struct {
		f    format.Format
		e    *format.Event
		want string
	}{
		{formats[0], e, "id: 7\nevent: paid\ndata: {\"a\": 1}\n\n"},
		{formats[1], e, "id: 7\nevent: paid\ntopic: orders/1\ndata: {\"a\": 1}\n\n"},
		{formats[0], lines, "id: i\ndata: a\ndata: b\ndata: c\ndata: d\n\n"},
		{formats[0], &format.Event{ID: "i"}, "id: i\ndata: \n\n"},
		{formats[0], &format.Event{Data: []byte("x\n")}, "data: x\ndata: \n\n"},
		{format.NDJSON, e, `{"topic":"orders/1","id":"7","type":"paid","data":{"a": 1}}` + "\n"},
		{format.NDJSON, lines, `{"topic":"t","id":"i","data":"a\nb\u000d\nc\u000dd"}` + "\n"},
		{format.NDJSON, pretty, `{"topic":"t","id":"i","data":{"a":[1,2]}}` + "\n"},
		{format.NDJSON, quoted, `{"topic":"t","id":"i","json":true,"data":"hello"}` + "\n"},
		{format.NDJSON, &format.Event{Topic: "t", ID: "i", Data: []byte("hello")}, `{"topic":"t","id":"i","data":"hello"}` + "\n"},
		{format.NDJSON, &format.Event{Topic: "t", ID: "i", Data: []byte("1.0")}, `{"topic":"t","id":"i","data":1.0}` + "\n"},
		{format.NDJSON, binary, `{"topic":"t","id":"i","base64":"/wA="}` + "\n"},
		{format.NDJSON, &format.Event{Topic: "t", ID: "i"}, `{"topic":"t","id":"i","data":""}` + "\n"},
		{format.Protobuf, &format.Event{Topic: "t", ID: "i", Data: []byte("x")}, "\x09\x0a\x01t\x12\x01i\x22\x01x"},
	} {
		if got := string(c.f.AppendEvent([]byte("<"), c.e)); got != "<"+c.want {
			t.Errorf("%s: got %q, want %q", c.f.Name(), got, "<"+c.want)
		}
	}
}

func TestHubMessages(t *testing.T) {
	gap := &format.Gap{ID: "e-4", From: `a"b`, To: "e-5", Dropped: 3, Reason: "slow"}
	bye := &format.Bye{Reason: "shutdown", Retry: 1500 * time.Millisecond}
	for _, c := range []struct{ got, want string }{
		{string(format.SSE.AppendStart(nil, 2*time.Second, "e-0")), "retry: 2000\nid: e-0\n\n"},
		{string(format.NDJSON.AppendStart(nil, 2*time.Second, "e-0")), `{"id":"e-0","type":"hub:start","data":{"retry_ms":2000}}` + "\n"},
		{string(format.NDJSON.AppendStart(nil, 2*time.Second, "")), `{"type":"hub:start","data":{"retry_ms":2000}}` + "\n"},
		{string(format.SSE.AppendGap(nil, gap)), "id: e-4\nevent: hub:gap\ndata: {\"from\":\"a\\\"b\",\"to\":\"e-5\",\"dropped\":3,\"reason\":\"slow\"}\n\n"},
		{string(format.SSE.AppendBye(nil, bye)), "retry: 1500\nevent: hub:bye\ndata: {\"reason\":\"shutdown\",\"retry_ms\":1500}\n\n"},
		{string(format.SSE.AppendBeat(nil)), ":\n\n"},
		{string(format.NDJSON.AppendGap(nil, &format.Gap{To: "e-5", Reason: "history"})), `{"type":"hub:gap","data":{"from":"","to":"e-5","reason":"history"}}` + "\n"},
		{string(format.NDJSON.AppendBeat(nil)), "\n"},
		{string(format.Protobuf.AppendBeat(nil)), "\x00"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	for _, f := range formats {
		if m := decode(t, f, f.AppendStart(nil, 1500*time.Millisecond, "e-3")); m.ID != "e-3" || m.Retry != 1500*time.Millisecond || m.Type != "" {
			t.Errorf("%s: a start is read as %+v", f.Name(), m)
		}
		m := decode(t, f, f.AppendGap(nil, gap))
		if want := (pushtest.Gap{From: `a"b`, To: "e-5", Dropped: 3, Reason: "slow"}); m.ID != "e-4" || m.Type != format.TypeGap || m.Gap == nil || *m.Gap != want {
			t.Errorf("%s: a gap is read as %+v", f.Name(), m)
		}
		m = decode(t, f, f.AppendBye(nil, bye))
		if want := (pushtest.Bye{Reason: "shutdown", RetryMS: 1500}); m.Type != format.TypeBye || m.Bye == nil || *m.Bye != want {
			t.Errorf("%s: a bye is read as %+v", f.Name(), m)
		}
		if m = decode(t, f, f.AppendBeat(nil)); !m.Beat {
			t.Errorf("%s: a sign of life is read as %+v", f.Name(), m)
		}
	}
}

// decode reads one message, which must be all there is.
func decode(t *testing.T, f format.Format, text []byte) pushtest.Message {
	t.Helper()
	next, err := pushtest.NewDecoder(f.Name(), bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	m, err := next()
	if err != nil {
		t.Fatalf("%s: %q: %v", f.Name(), text, err)
	}
	if _, err := next(); err != io.EOF {
		t.Fatalf("%s: %q is more than one message: %v", f.Name(), text, err)
	}
	return m
}

// FuzzEvent encodes an event in each format, and wants to read the same event.
func FuzzEvent(f *testing.F) {
	f.Add("orders/1", "7", "paid", []byte(`{"a":1}`))
	f.Add("t", "é", "", []byte("a\r\nb\rc\n\n"))
	f.Add("t", "\"\\", "x y", []byte{0xff, 0xfe, 0})
	f.Add("t", "i", "", []byte("[1,\n2]"))
	f.Add("t", "i", "", []byte(" \"text\" "))
	f.Add("t", "i", "", []byte("\"\xcb\""))
	f.Add("t", "i", "", bytes.Repeat([]byte("x\u2028"), 100))
	f.Fuzz(func(t *testing.T, topic, id, kind string, data []byte) {
		for _, s := range []string{topic, id, kind} {
			// The hub refuses other texts.
			if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' }) || strings.TrimSpace(s) != s {
				return
			}
		}
		if topic == "" || id == "" || strings.HasPrefix(kind, format.ReservedPrefix) {
			return
		}
		e := &format.Event{Topic: topic, ID: id, Type: kind, Data: data}
		for i, f := range formats {
			m := decode(t, f, f.AppendEvent(nil, e))
			if i == 0 {
				m.Topic = topic
			}
			if m.Topic != topic || m.ID != id || m.Type != kind || !same(f, m.Data, data) {
				t.Errorf("%s: %+v is read as %+v", f.Name(), e, m)
			}
		}
	})
}

// same compares data with what a format has made of it.
func same(f format.Format, got, data []byte) bool {
	switch f.Name() {
	case "sse":
		data = bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	case "ndjson":
		if !utf8.Valid(data) {
			return bytes.Equal(got, data)
		}
		var line bytes.Buffer
		if json.Valid(data) && json.Compact(&line, data) == nil {
			var read bytes.Buffer
			return json.Compact(&read, got) == nil && read.String() == line.String()
		}
	}
	return bytes.Equal(got, data)
}

// FuzzDecoders feeds the decoders anything: they end, with an error.
func FuzzDecoders(f *testing.F) {
	f.Add([]byte("id: 1\ndata: x\n\n:\n\n"))
	f.Add([]byte("{\"topic\":\"t\",\"id\":\"i\",\"data\":1}\n\n"))
	f.Add([]byte("\x09\x0a\x01t\x12\x01i\x22\x01x\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, name := range []string{"sse", "ndjson", "protobuf"} {
			next, err := pushtest.NewDecoder(name, bytes.NewReader(text))
			for range len(text) + 1 {
				if err == nil {
					_, err = next()
				}
			}
			if err == nil {
				t.Fatalf("%s: more messages than bytes", name)
			}
		}
	})
}

func TestUnknownDecoder(t *testing.T) {
	if _, err := pushtest.NewDecoder("xml", strings.NewReader("")); err == nil {
		t.Error("there is no such decoder")
	}
	next, err := pushtest.NewDecoder("sse", strings.NewReader("data: x\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v at a cut block", err)
	}
}
