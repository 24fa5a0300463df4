package nethttptest

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
)

// A translator makes frames of scripts that were written for HTTP/1.1: each request gets a
// stream, and content is sent as far as it has come.
type translator struct {
	in      []byte
	stream  uint32
	left    int  // of content with a length
	within  bool // content is still to come
	chunked bool
	failed  bool // it was not HTTP/1.1
}

// add translates what can be.
func (t *translator) add(s string) (out string) {
	t.in = append(t.in, s...)
	for !t.failed {
		var more string
		var ok bool
		switch {
		case !t.within:
			more, ok = t.head()
		case t.chunked:
			more, ok = t.chunk()
		default:
			more, ok = t.content()
		}
		if out += more; !ok {
			break
		}
	}
	return out
}

// take removes and returns what comes before a separator.
func (t *translator) take(sep string) (string, bool) {
	before, after, ok := bytes.Cut(t.in, []byte(sep))
	if ok {
		t.in = after
	}
	return string(before), ok
}

func (t *translator) head() (string, bool) {
	text, ok := t.take("\r\n\r\n")
	if !ok {
		return "", false
	}
	lines := strings.Split(text, "\r\n")
	words := strings.Split(lines[0], " ")
	if len(words) != 3 || words[2] != "HTTP/1.1" || !strings.HasPrefix(words[1], "/") && words[1] != "*" {
		t.failed = true
		return "", false
	}
	t.left, t.chunked = 0, false
	pseudo, fields := []string{":method", words[0], ":scheme", "http", ":path", words[1]}, []string{}
	for _, l := range lines[1:] {
		name, value, ok := strings.Cut(l, ":")
		value = strings.Trim(value, " \t")
		t.failed = t.failed || !ok || name == ""
		switch name = strings.ToLower(name); name {
		case "host":
			pseudo = append(pseudo, ":authority", value)
			continue
		case "connection", "keep-alive", "upgrade":
			continue
		case "transfer-encoding":
			t.chunked = true
			continue
		case "content-length":
			n, err := strconv.Atoi(value)
			t.left, t.failed = n, t.failed || err != nil || n < 0
		}
		fields = append(fields, name, value)
	}
	t.stream += 2
	flags := byte(flagEnd)
	if t.within = t.chunked || t.left > 0; t.within {
		flags = 0
	}
	return heads(t.stream-1, flags, append(pseudo, fields...)...), true
}

func (t *translator) content() (string, bool) {
	n := min(t.left, len(t.in))
	if n == 0 {
		return "", false
	}
	p := string(t.in[:n])
	t.in, t.left = t.in[n:], t.left-n
	if t.within = t.left > 0; t.within {
		return data(t.stream-1, p), true
	}
	return finishes(t.stream-1, p), true
}

// chunk translates one chunk, or the last one with the trailer section.
func (t *translator) chunk() (string, bool) {
	line, _, ok := bytes.Cut(t.in, []byte("\r\n"))
	size, err := strconv.ParseUint(string(line), 16, 31)
	t.failed = t.failed || ok && err != nil
	n := len(line) + 2 + int(size) + 2
	if !ok || err != nil || size > 0 && len(t.in) < n {
		return "", false
	}
	if size > 0 {
		p := string(t.in[len(line)+2 : n-2])
		t.in = t.in[n:]
		return data(t.stream-1, p), true
	}
	rest := &translator{in: t.in[len(line):]} // with a line's end before the first field
	text, ok := rest.take("\r\n\r\n")
	if !ok {
		return "", false
	}
	t.in, t.within = rest.in, false
	var fields []string
	for l := range strings.SplitSeq(strings.TrimPrefix(text, "\r\n"), "\r\n") {
		if name, value, ok := strings.Cut(l, ":"); ok {
			fields = append(fields, strings.ToLower(name), strings.Trim(value, " \t"))
		}
	}
	if fields == nil {
		return finishes(t.stream-1, ""), true
	}
	return heads(t.stream-1, flagEnd, fields...), true
}

// speaksBoth reports whether a script is one request that means the same over HTTP/2.
func speaksBoth(send string) bool {
	t := new(translator)
	t.add(send)
	return !t.failed && t.stream == 2 && len(t.in) == 0
}

// protocolsInClear are those of servers that scripts of both kinds are sent to.
func protocolsInClear() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	return p
}
