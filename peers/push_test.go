//go:build linux

package peers_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// feeders answer /feed; pushers answer /events and /publish. centrifuge answers nothing else.
var (
	feeders = []string{
		"nethttp", "echo", "fasthttp", "redline", "redline-uring", "redline-epoll", "redline-std", "redline-nethttp", "redline-echo",
	}
	pushers = append(slices.Clone(feeders), "limit", "centrifuge")
)

// listen subscribes to a topic, reads the head of the answer, which comes at once, and gives a
// function that reads the data of one event.
func (c *client) listen(t *testing.T, topic string) (event func() string) {
	t.Helper()
	c.send(t, "GET /events?topic="+topic+" HTTP/1.1\r\nHost: a\r\n\r\n")
	answer, err := http.ReadResponse(c.in, &http.Request{Method: http.MethodGet})
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		t.Fatal(answer.Status)
	}
	checkType(t, answer, "text/event-stream")
	in := bufio.NewReader(answer.Body)
	return func() string {
		t.Helper()
		for data := ""; ; {
			line, err := in.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if value, ok := strings.CutPrefix(line, "data: "); ok {
				data += value
			}
			if line == "\n" && data != "" { // other events only set the place or the time to connect again
				return strings.TrimSuffix(data, "\n")
			}
		}
	}
}

// publish publishes a body, and returns the status.
func (c *client) publish(t *testing.T, topic, body string) int {
	t.Helper()
	c.send(t, post("/publish?topic="+topic, []byte(body)))
	answer, rest := c.answer(t, http.MethodPost)
	if answer.StatusCode == http.StatusNoContent && len(rest) > 0 {
		t.Errorf("status 204 with %d bytes", len(rest))
	}
	return answer.StatusCode
}

// A client that has the head of an answer receives each later event of the topic, in order, and none of
// another.
func TestPush(t *testing.T) {
	each(t, pushers, func(t *testing.T, name string) {
		p := start(t, name)
		wrap := func(_, body string) string { return body }
		if name == "centrifuge" {
			wrap = func(topic, body string) string { return fmt.Sprintf(`{"channel":%q,"pub":{"data":%s}}`, topic, body) }
		}
		one, two, other, from := p.dial(t), p.dial(t), p.dial(t), p.dial(t)
		first, second := one.listen(t, "a"), two.listen(t, "a")
		third := other.listen(t, "b")
		for i := range 50 {
			body := fmt.Sprintf(`{"ts":%d}`, i)
			if status := from.publish(t, "a", body); status != http.StatusNoContent {
				t.Fatalf("publish: status %d", status)
			}
			for _, next := range []func() string{first, second} {
				if got := next(); got != wrap("a", body) {
					t.Fatalf("event %d is %q", i, got)
				}
			}
		}
		long := `{"text":"` + strings.Repeat("x", 16<<10) + `"}`
		for _, body := range []string{`{"ts":1}`, long} {
			if status := from.publish(t, "b", body); status != http.StatusNoContent {
				t.Fatalf("publish: status %d", status)
			}
			if got := third(); got != wrap("b", body) {
				t.Errorf("topic b: %.80q", got)
			}
		}
		if status := from.publish(t, "nobody", "{}"); status != http.StatusNoContent {
			t.Errorf("to nobody: status %d", status)
		}
		one.Close()
		for i := range 20 { // the subscriber who has left is no obstacle
			body := fmt.Sprintf(`{"seq":%d}`, i)
			if status := from.publish(t, "a", body); status != http.StatusNoContent {
				t.Fatalf("status %d after a subscriber has left", status)
			}
			if got := second(); got != wrap("a", body) {
				t.Fatalf("event %q after a subscriber has left", got)
			}
		}
	})
}

func TestPushRefuses(t *testing.T) {
	each(t, slices.DeleteFunc(slices.Clone(pushers), func(name string) bool { return name == "limit" }), func(t *testing.T, name string) {
		p := start(t, name)
		for _, request := range []string{
			"GET /events HTTP/1.1\r\nHost: a\r\n\r\n", "GET /events?topic=" + strings.Repeat("x", 257) + " HTTP/1.1\r\nHost: a\r\n\r\n",
			post("/publish", []byte("{}")), post("/publish?topic=a", nil), post("/publish?topic=a", []byte("{\n}")),
		} {
			c := p.dial(t)
			c.send(t, request)
			if answer, _ := c.answer(t, http.MethodGet); answer.StatusCode != http.StatusBadRequest {
				t.Errorf("%.60q: %s", request, answer.Status)
			}
		}
	})
}

func TestFeed(t *testing.T) {
	each(t, feeders, func(t *testing.T, name string) {
		p := start(t, name)
		for format, kind := range map[string]string{"json": "text/event-stream", "protobuf": "application/x-protobuf"} {
			c := p.dial(t)
			c.send(t, fmt.Sprintf("GET /feed?interval=5ms&size=1024&format=%s HTTP/1.1\r\nHost: a\r\n\r\n", format))
			answer, err := http.ReadResponse(c.in, &http.Request{Method: http.MethodGet})
			if err != nil {
				t.Fatal(err)
			}
			checkType(t, answer, kind)
			in := bufio.NewReader(answer.Body)
			for i := range uint64(5) {
				if text, seq := feedEvent(t, in, format); len(text) != 1024 || seq != i+1 {
					t.Fatalf("%s, event %d: %d bytes of text, number %d", format, i, len(text), seq)
				}
			}
		}
		for _, query := range []string{"", "?format=xml&interval=5ms&size=64", "?format=json&interval=soon&size=64", "?format=json&interval=5ms&size=1"} {
			c := p.dial(t)
			c.send(t, "GET /feed"+query+" HTTP/1.1\r\nHost: a\r\n\r\n")
			if answer, _ := c.answer(t, http.MethodGet); answer.StatusCode != http.StatusBadRequest {
				t.Errorf("%q: %s", query, answer.Status)
			}
		}
	})
}

// feedEvent reads an event of /feed, and returns its text and number.
func feedEvent(t *testing.T, in *bufio.Reader, format string) (text string, seq uint64) {
	t.Helper()
	if format == "json" {
		line, err := in.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		var e struct {
			TS   int64
			Seq  uint64
			Text string
		}
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if err := json.Unmarshal(data, &e); err != nil || !ok || e.TS == 0 {
			t.Fatalf("%q: %v", line, err)
		}
		if end, err := in.ReadString('\n'); err != nil || end != "\n" {
			t.Fatalf("%q after an event, %v", end, err)
		}
		return e.Text, e.Seq
	}
	n, err := binary.ReadUvarint(in)
	if err != nil || n > 4096 {
		t.Fatalf("length %d, %v", n, err)
	}
	m := make([]byte, n)
	if _, err := io.ReadFull(in, m); err != nil {
		t.Fatal(err)
	}
	// Tag 1, eight bytes; tag 2, a varint; tag 3, a length and the text.
	seq, k := binary.Uvarint(m[10:])
	size, j := binary.Uvarint(m[11+k:])
	if m[0] != 0x09 || m[9] != 0x10 || m[10+k] != 0x1a || int(size) != len(m)-11-k-j {
		t.Fatalf("message %x", m)
	}
	return string(m[11+k+j:]), seq
}
