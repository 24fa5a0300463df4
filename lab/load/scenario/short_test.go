package scenario

import (
	"strings"
	"testing"
)

func TestParseCheck(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Empty: \r\n\r\n"
	const body = `{"id": 7, "name": "a equals b", "odd name": true, "none": null}`
	for _, c := range []struct {
		check string
		holds bool
	}{
		{"status 200", true},
		{"status 2xx", true},
		{"status 404, 200-299", true},
		{"status 404", false},
		{"header Content-Type contains json", true},
		{"header content-type equals application/json", true},
		{"header Content-Type matches ^text/", false},
		{"header X-Empty exists", true},
		{"header X-Empty equals", true},
		{"header X-Other absent", true},
		{"header X-Other exists", false},
		{`body contains "name": "a equals`, true},
		{"body equals {", false},
		{`body matches "id": \d+`, true},
		{"json $.id equals 7", true},
		{"json $.id equals 7.0", true},
		{`json $.id equals "7"`, false},
		{"json $.name equals a equals b", true},
		{`json $.name equals "a equals b"`, true},
		{"json $['odd name'] equals true", true},
		{"json $['odd name'] equals false", false},
		{"json $.none equals null", true},
		{"json $.name contains equals", true},
		{"json $.other absent", true},
		{"json $.other exists", false},
	} {
		if err := ParseCheck(c.check); err != nil {
			t.Errorf("%s: %v", c.check, err)
			continue
		}
		o := options()
		o.Check = []string{c.check}
		p, err := Single(Request{URL: "/"}, o)
		if err != nil {
			t.Errorf("%s: %v", c.check, err)
			continue
		}
		u := p.User(1, 0, 1)
		target, _ := u.Next()
		want := ""
		if !c.holds {
			want = c.check
		}
		if failed := u.Answer(target, 200, []byte(head), []byte(body)); failed != want {
			t.Errorf("%s: failed %q, want %q", c.check, failed, want)
		}
	}
}

func TestParseCheckFlaws(t *testing.T) {
	for _, c := range []struct{ check, want string }{
		{"", "does not begin with status, header, body or json"},
		{"200", "does not begin with"},
		{"status", `"" is no status`},
		{"status ok", `"ok" is no status`},
		{"body hello", "it contains none of equals, contains, matches, exists, absent"},
		{"body exists", `"exists" is not a comparison for a body`},
		{"body of it equals x", `"of it" is not a comparison for a body`},
		{"body matches (", "missing closing )"},
		{"header exists", "a check on a header without its name"},
		{"header A B exists", "a check on a header without its name"},
		{"header A exists now", `"now" after exists`},
		{"json id equals 7", "json"},
		{"json $.a equals [1]", "equals a list"},
	} {
		err := ParseCheck(c.check)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "write 'status 200'") {
			t.Errorf("%q: %v, want %q", c.check, err, c.want)
		}
		o := options()
		o.Check = []string{c.check}
		if _, err := Single(Request{URL: "/"}, o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: a plan says %v, want %q", c.check, err, c.want)
		}
	}
}

// Flags apply to every request: a header field replaces the file's, checks are
// treated like those of defaults.
func TestOptionsOfAll(t *testing.T) {
	o := options()
	o.Set = []string{"accept: text/plain", "X-Both: ${id} 1", "X-Both: 2", "Content-Type: text/csv"}
	o.Check = []string{"status 201", "body contains a"}
	p, err := Parse("s.yaml", []byte(`
defaults: {headers: {Accept: "*/*", X-Default: d}}
variables: {id: {value: 1}}
flows:
  - name: f
    steps:
      - {name: one, url: /one, method: POST, body: {json: {a: 1}}, headers: {X-Both: file, Accept: image/png}}
      - {name: two, url: /two, checks: [{status: 404}]}
`), o)
	if err != nil {
		t.Fatal(err)
	}
	u := p.User(1, 0, 1)
	one, text := ask(t, u)
	r, _ := parse(t, text)
	if h := r.Header; len(h["Accept"]) != 1 || h.Get("Accept") != "text/plain" || strings.Join(h["X-Both"], ";") != "${id} 1;2" ||
		h.Get("X-Default") != "d" || strings.Join(h["Content-Type"], ";") != "text/csv" {
		t.Errorf("one is sent with %v", h)
	}
	if failed := u.Answer(one, 200, nil, []byte("a")); failed != "status 201" {
		t.Errorf("one failed %q", failed)
	}
	two, _ := ask(t, u)
	if failed := u.Answer(two, 404, nil, []byte("b")); failed != "body contains a" {
		t.Errorf("two failed %q", failed)
	}
	o.Set = []string{"Host: other:80"}
	if p, err = Parse("s.yaml", []byte("targets: [{url: /}]"), o); err != nil {
		t.Fatal(err)
	}
	if r, _ := parse(t, wire(t, p)); r.Host != "other:80" {
		t.Errorf("Host %q", r.Host)
	}
	o.Set = []string{"no colon"}
	if _, err := Parse("s.yaml", []byte("targets: [{url: /}]"), o); err == nil || !strings.Contains(err.Error(), `header "no colon"; write Name: value`) {
		t.Errorf("a header field without a colon: %v", err)
	}
}
