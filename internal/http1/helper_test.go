package http1

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redline-go/redline/internal/exchange"
)

// outcome is what a whole message came to, in a form that compares.
type outcome struct {
	code Code
	n    int    // bytes of the head
	head string // see describe
	body string // content, then trailers, or how reading it ended
	used int    // bytes of head and body
}

// describe writes a request down: target parts, framing, flags, fields.
func describe(r *exchange.Request) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s %s path=%s", r.MethodBytes(), r.TargetBytes(), r.PathBytes())
	if r.HasQuery {
		fmt.Fprintf(&s, " query=%s", r.QueryBytes())
	}
	fmt.Fprintf(&s, " host=%s %d.%d", r.AuthorityBytes(), r.Version.Major(), r.Version.Minor())
	if r.ContentLength == exchange.UnknownLength {
		s.WriteString(" len=chunked")
	} else {
		fmt.Fprintf(&s, " len=%d", r.ContentLength)
	}
	for _, flag := range []struct {
		set  bool
		name string
	}{
		{r.Close, "close"},
		{r.ExpectContinue, "continue"},
		{r.PathEscaped, "escaped"},
	} {
		if flag.set {
			s.WriteString(" " + flag.name)
		}
	}
	for _, f := range r.Fields {
		fmt.Fprintf(&s, "|%s:%s", f.Name.In(r.Head), f.Value.In(r.Head))
	}
	return s.String()
}

// read feeds a message in pieces that end at the cuts, each time in a buffer of its
// own so that nothing can rely on where the bytes lie.
func read(lim exchange.Limits, in string, cuts []int) outcome {
	var p Parser
	p.Init(lim)
	var r exchange.Request
	var o outcome
	for _, end := range append(slices.Clone(cuts), len(in)) {
		o.n, o.code = p.Parse(&r, []byte(in[:min(end, len(in))]))
		if o.code != NeedMore {
			break
		}
	}
	if o.code != Complete {
		return o
	}
	o.head = describe(&r)
	if r.Method == exchange.MethodOther {
		o.head = "other " + o.head
	}
	o.used = o.n
	if r.HasBody() {
		o.readBody(&r, p.Limits(), in, cuts)
	}
	return o
}

func (o *outcome) readBody(r *exchange.Request, lim *exchange.Limits, in string, cuts []int) {
	var body Body
	body.Init(r, lim)
	var got strings.Builder
	code := NeedMore
	for _, end := range append(slices.Clone(cuts), len(in)) {
		for end = min(end, len(in)); code == NeedMore && o.used < end; {
			data, n, c := body.Next([]byte(in[o.used:end]))
			got.Write(data)
			o.used += n
			code = c
		}
	}
	o.body = got.String()
	for _, f := range r.Trailers {
		o.body += fmt.Sprintf("|%s:%s", f.Name.In(r.TrailerBytes), f.Value.In(r.TrailerBytes))
	}
	switch {
	case code.Refused():
		// How much content came out before the refusal depends on the split, and
		// does not matter: the code is what is compared.
		o.code, o.body, o.used = code, "", 0
	case code == NeedMore:
		o.body += "..."
	}
}

// readAll reads a message whole, byte by byte and in two pieces split at every
// offset, and fails the test unless all of that comes to the same.
func readAll(t testing.TB, lim exchange.Limits, in string) outcome {
	t.Helper()
	want := read(lim, in, nil)
	var single []int
	for i := range len(in) {
		single = append(single, i)
		if got := read(lim, in, []int{i}); got != want {
			t.Fatalf("%q split at %d:\n%+v\nwhole:\n%+v", in, i, got, want)
		}
	}
	if got := read(lim, in, single); got != want {
		t.Fatalf("%q byte by byte:\n%+v\nwhole:\n%+v", in, got, want)
	}
	return want
}

// A refusal is a case of a refused request, with its reference.
type refusal struct {
	ref  string // RFC section, CVE or issue of another server
	in   string
	want Code
}

// checkRefusals also appends a request that must not be parsed, and asks again
// after the refusal.
func checkRefusals(t *testing.T, cases []refusal) {
	t.Helper()
	const next = "GET /smuggled HTTP/1.1\r\nHost: evil\r\n\r\n"
	for _, c := range cases {
		for _, in := range []string{c.in, c.in + next} {
			if got := readAll(t, exchange.Limits{}, in); got.code != c.want {
				t.Errorf("%s: %q: %q %+v, want %q", c.ref, in, got.code, got, c.want)
			}
		}
		if c.want.Status() < 400 {
			t.Errorf("%s: %q has status %d", c.ref, c.want, c.want.Status())
		}
	}
}

// An acceptance case.
type acceptance struct {
	ref  string
	in   string
	want string // see describe; a body follows after " => "
}

func checkAcceptances(t *testing.T, cases []acceptance) {
	t.Helper()
	const next = "GET /next HTTP/1.1\r\nHost: n\r\n\r\n"
	for _, c := range cases {
		for _, in := range []string{c.in, c.in + next} {
			o := readAll(t, exchange.Limits{}, in)
			got := o.head
			if o.body != "" {
				got += " => " + o.body
			}
			if o.code != Complete || got != c.want || o.used != len(c.in) {
				t.Errorf("%s: %q: %q, %d of %d bytes\n got %s\nwant %s", c.ref, in, o.code, o.used, len(c.in), got, c.want)
			}
		}
	}
}

const host = "Host: h\r\n"

// get is a GET request with field lines behind Host.
func get(lines string) string { return "GET / HTTP/1.1\r\n" + host + lines + "\r\n" }

// post is a POST request with field lines behind Host, and what follows the head.
func post(lines, rest string) string { return "POST / HTTP/1.1\r\n" + host + lines + "\r\n" + rest }
