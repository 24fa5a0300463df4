package nethttptest

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An answer is one message of a server, as received.
type answer struct {
	line    string   // status line
	status  int      // 0 when there is none to be found
	fields  []string // "Name: value"
	body    []byte   // decoded
	trailer []string
	whole   bool   // it ended as its framing says
	toEOF   bool   // it ends with the connection
	toHEAD  bool   // it has no body because nobody asked for one
	reset   string // the code of RST_STREAM, which counts as its end
}

// informational reports whether a final answer is still to come.
func (a *answer) informational() bool {
	return a.status >= 100 && a.status < 200 && a.status != http.StatusSwitchingProtocols
}

// get returns the values of a field, joined.
func (a *answer) get(name string) string {
	var values []string
	for _, f := range a.fields {
		if n, v, _ := strings.Cut(f, ":"); strings.EqualFold(n, name) {
			values = append(values, strings.TrimPrefix(v, " "))
		}
	}
	return strings.Join(values, ", ")
}

// parseAnswers takes apart what a client received. head tells whether the
// final answer with an index is one to HEAD. rest is what is no answer: what comes
// behind a switch of protocols, or cannot be parsed.
func parseAnswers(got []byte, eof bool, head func(final int) bool) (answers []answer, rest []byte) {
	finals := 0
	for bytes.HasPrefix(got, []byte("HTTP/1.")) {
		a, n := parseAnswer(got, eof, head(finals))
		answers = append(answers, a)
		got = got[n:]
		switch {
		case !a.whole || a.status == http.StatusSwitchingProtocols:
			return answers, got
		case !a.informational():
			finals++
		}
	}
	return answers, got
}

// parseAnswer parses the answer at the begin of got, which may not have come whole.
func parseAnswer(got []byte, eof, head bool) (a answer, n int) {
	end := bytes.Index(got, []byte("\r\n\r\n"))
	if end < 0 {
		a.line, _, _ = strings.Cut(string(got), "\r\n")
		return a, len(got)
	}
	lines := strings.Split(string(got[:end]), "\r\n")
	a.line, a.fields = lines[0], lines[1:]
	if status := strings.SplitN(a.line, " ", 3); len(status) > 1 {
		a.status, _ = strconv.Atoi(status[1]) // 0 if it is not a number, which the line shows
	}
	n = end + 4
	a.toHEAD = head
	if head || a.status/100 == 1 || a.status == http.StatusNoContent || a.status == http.StatusNotModified {
		a.whole = true
		return a, n
	}
	if strings.Contains(a.get("Transfer-Encoding"), "chunked") {
		return parseChunked(a, got, n)
	}
	first, _, _ := strings.Cut(a.get("Content-Length"), ",") // net/http repeats what the handler repeats
	length, err := strconv.Atoi(first)
	if err != nil || length < 0 {
		a.body, a.toEOF, a.whole = got[n:], true, eof
		return a, len(got)
	}
	a.whole = length <= len(got)-n
	a.body = got[n:min(n+length, len(got))]
	return a, n + len(a.body)
}

// parseChunked decodes the body that begins at n.
func parseChunked(a answer, got []byte, n int) (answer, int) {
	for {
		line, _, ok := bytes.Cut(got[n:], []byte("\r\n"))
		if !ok {
			return a, len(got)
		}
		size, err := strconv.ParseUint(string(line), 16, 31)
		if err != nil {
			return a, len(got)
		}
		n += len(line) + 2
		if size == 0 {
			break
		}
		if len(got)-n < int(size)+2 {
			a.body = append(a.body, got[n:min(n+int(size), len(got))]...)
			return a, len(got)
		}
		a.body = append(a.body, got[n:n+int(size)]...)
		if n += int(size); string(got[n:n+2]) != "\r\n" {
			return a, len(got)
		}
		n += 2
	}
	for {
		line, _, ok := strings.Cut(string(got[n:]), "\r\n")
		if !ok {
			return a, len(got)
		}
		n += len(line) + 2
		if line == "" {
			a.whole = true
			return a, n
		}
		a.trailer = append(a.trailer, line)
	}
}

// dump writes the answer as lines of an outcome.
func (a *answer) dump(name string) (lines []string) {
	add := func(format string, args ...any) {
		lines = append(lines, name+": "+fmt.Sprintf(format, args...))
	}
	add("%s", a.line)
	fields := slices.Clone(a.fields)
	for i, f := range fields {
		if n, v, _ := strings.Cut(f, ": "); n == "Date" && aboutNow(v) {
			fields[i] = "Date: now"
		}
	}
	slices.Sort(fields)
	for _, f := range fields {
		add("%s", quoteUnprintable(f))
	}
	if len(a.body) > 0 {
		add("body %s", brief(a.body))
	}
	trailer := slices.Sorted(slices.Values(a.trailer))
	for _, f := range trailer {
		add("trailer %s", quoteUnprintable(f))
	}
	if a.reset != "" {
		add("RST_STREAM %s", a.reset)
	}
	if !a.whole {
		add("is cut short")
	}
	return lines
}

// aboutNow reports whether a value is a date in the preferred format (RFC 9110,
// 5.6.7), of these minutes.
func aboutNow(v string) bool {
	t, err := time.Parse(http.TimeFormat, v)
	return err == nil && time.Since(t).Abs() < 5*time.Minute
}

// brief shows bytes whole when they are few, and otherwise so that no two of
// different content look the same.
func brief(b []byte) string {
	const most = 200
	if len(b) <= most {
		return fmt.Sprintf("%q", b)
	}
	h := uint64(14695981039346656037) // FNV-1a
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return fmt.Sprintf("%q... of %d bytes, hash %016x", b[:32], len(b), h)
}

func quoteUnprintable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return strconv.Quote(s)
	}
	return s
}
