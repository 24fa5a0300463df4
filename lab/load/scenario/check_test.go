package scenario

import (
	"slices"
	"strings"
	"testing"
)

const answerHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nX-Multi: one\r\nx-multi:two\r\nX-Empty:\r\n\r\n"

const answerBody = `{"id": 7, "big": 1e3, "state": "pa\u0069d", "ok": true, "none": null, "list": [{"n": "x"}], "text": "hello"}`

func TestChecks(t *testing.T) {
	for check, want := range map[string]bool{
		"{status: 200}":                                       true,
		"{status: 2xx}":                                       true,
		"{status: '2XX'}":                                     true,
		"{status: 199-201}":                                   true,
		"{status: [404, 200]}":                                true,
		"{status: [404, 3xx]}":                                false,
		"{body: {contains: hello}}":                           true,
		"{body: {contains: Hello}}":                           false,
		"{body: {matches: '\"id\": \\d+'}}":                   true,
		"{body: {matches: ^hello}}":                           false,
		"{body: {equals: hello}}":                             false,
		"{header: {name: content-TYPE, contains: json}}":      true,
		"{header: {name: Content-Type, equals: json}}":        false,
		"{header: {name: Content-Type, matches: '^app.*8$'}}": true,
		"{header: {name: X-Multi, equals: one}}":              true,
		"{header: {name: X-Multi, equals: two}}":              true,
		"{header: {name: X-Multi, equals: three}}":            false,
		"{header: {name: X-Multi}}":                           true,
		"{header: {name: X-Empty, exists: true}}":             true,
		"{header: {name: X-Empty, equals: ''}}":               true,
		"{header: {name: X-Multi, exists: false}}":            false,
		"{header: {name: X-Gone, exists: false}}":             true,
		"{header: {name: X-Gone}}":                            false,
		"{header: {name: X-Gone, contains: ''}}":              false,
		"{json: {path: $.id, equals: 7}}":                     true,
		"{json: {path: $.id, equals: 7.0}}":                   true,
		"{json: {path: $.id, equals: 8}}":                     false,
		"{json: {path: $.id, equals: '7'}}":                   false,
		"{json: {path: $.big, equals: 1000}}":                 true,
		"{json: {path: $.state, equals: paid}}":               true,
		"{json: {path: $.state, contains: ai}}":               true,
		"{json: {path: $.state, matches: ^p.*d$}}":            true,
		"{json: {path: $.ok, equals: true}}":                  true,
		"{json: {path: $.ok, equals: false}}":                 false,
		"{json: {path: $.ok, equals: 'true'}}":                false,
		"{json: {path: $.none, equals: null}}":                true,
		"{json: {path: $.none, equals: ~}}":                   true,
		"{json: {path: $.none}}":                              true,
		"{json: {path: $.gone, equals: null}}":                false,
		"{json: {path: $.gone, exists: false}}":               true,
		"{json: {path: $.id, exists: false}}":                 false,
		"{json: {path: '$.list[0].n', equals: x}}":            true,
		"{json: {path: '$.list', contains: '\"x\"'}}":         true,
	} {
		u := compiled(t, "targets:\n- url: /\n  checks: ["+check+"]\n").User(1, 0, 1)
		target, _ := ask(t, u)
		failed := u.Answer(target, 200, []byte(answerHead), []byte(answerBody))
		if (failed == "") != want {
			t.Errorf("%s: failed %q", check, failed)
		}
		if failed != "" && !slices.Contains(target.Checks(), failed) {
			t.Errorf("%s: %q is not among %q", check, failed, target.Checks())
		}
		if head, body := strings.Contains(check, "header"), strings.Contains(check, "body") || strings.Contains(check, "json:"); target.NeedsHead() != head || target.NeedsBody() != body {
			t.Errorf("%s: needs head %v, body %v", check, target.NeedsHead(), target.NeedsBody())
		}
	}
}

func TestDefaultStatus(t *testing.T) {
	for text, want := range map[string][2]string{
		"targets:\n- url: /\n": {"", "status 2xx, 3xx"},
		"targets:\n- url: /\n  checks: [{body: {contains: x}}]\n":                                                                {"body contains \"x\"", "status 2xx, 3xx"},
		"targets:\n- url: /\n  checks: [{status: 404}]\n":                                                                        {"status 404", ""},
		"defaults: {checks: [{status: 404}]}\ntargets:\n- url: /\n":                                                              {"status 404", ""},
		"defaults: {checks: [{status: 404}, {body: {equals: ''}}]}\ntargets:\n- url: /\n  checks: [{name: fine, status: 200}]\n": {"", "fine"},
	} {
		u := compiled(t, text).User(1, 0, 1)
		for i, status := range []int{200, 404} {
			target, _ := ask(t, u)
			if failed := u.Answer(target, status, nil, nil); failed != want[i] {
				t.Errorf("%s%d: %q, want %q", text, status, failed, want[i])
			}
		}
	}
	u := compiled(t, "targets:\n- url: /\n").User(1, 0, 1)
	target, _ := ask(t, u)
	for _, status := range []int{-1, 0, 100, 199, 400, 999, 1 << 20} {
		if u.Answer(target, status, nil, nil) == "" {
			t.Errorf("status %d is accepted", status)
		}
	}
}

func TestCheckNames(t *testing.T) {
	p := compiled(t, `
setup:
- url: /
  checks: [{status: [200, 3xx]}, {name: mine, body: {contains: x}}, {body: {matches: x+}}, {header: {name: A, exists: false}}, {json: {path: $.a, equals: 1}}]
  captures: {t: {header: A}}
targets:
- url: /x
`)
	want := []string{"status 200, 3xx", "mine", "body matches x+", "header A absent", `json $.a equals "1"`, "capture t"}
	if got := p.Targets()[0].Checks(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestCaptures(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nX-Token:  abc \r\nSet-Cookie: a=1; Path=/\r\nset-cookie: sid=old\r\nSet-Cookie: sid=x=y; HttpOnly\r\nSet-Cookie: u=\u00e9\u00a0\r\n\r\n"
	const body = `<input value="csrf-1"> {"a`
	for capture, want := range map[string]string{
		"{header: x-token}":             "abc",
		"{header: X-Gone}":              "!",
		"{header: X-Gone, default: d}":  "d",
		"{header: X-Gone, default: ''}": "",
		"{cookie: sid}":                 "x=y",
		"{cookie: a}":                   "1",
		"{cookie: Path}":                "!",
		"{cookie: u}":                   "\u00e9\u00a0",
		"{regexp: 'value=\"([^\"]+)'}":  "csrf-1",
		"{regexp: 'csrf-\\d'}":          "csrf-1",
		"{regexp: 'gone'}":              "!",
		"{regexp: 'csrf(x)?'}":          "!",
		"{json: $.a}":                   "!",
		"{json: $.a, default: 3}":       "3",
	} {
		p := compiled(t, "flows:\n- name: f\n  steps:\n  - {name: a, url: /, captures: {v: "+capture+"}}\n  - {name: b, method: PUT, url: /, body: '<${v}>'}\n")
		u := p.User(1, 0, 1)
		target, _ := ask(t, u)
		failed := u.Answer(target, 200, []byte(head), []byte(body))
		next, text := ask(t, u)
		if want == "!" {
			if failed != "capture v" || next.Name() != "f/a" {
				t.Errorf("%s: failed %q, then %s", capture, failed, next.Name())
			}
			continue
		}
		if _, got := parse(t, text); failed != "" || got != "<"+want+">" {
			t.Errorf("%s: failed %q, %s", capture, failed, got)
		}
	}
}

func TestCapturesJSON(t *testing.T) {
	for value, want := range map[string]string{
		`"plain"`: "plain", `"a\"\u00e9\n"`: "a\"é\n", "12": "12", "true": "true", `{"a": [1]}`: `{"a": [1]}`, "null": "!",
		`"` + strings.Repeat("x", maxCapture) + `"`: strings.Repeat("x", maxCapture), `"` + strings.Repeat("x", maxCapture+1) + `"`: "!",
	} {
		p := compiled(t, "flows:\n- name: f\n  steps:\n  - {name: a, url: /, captures: {v: {json: $.v}}}\n  - {name: b, method: PUT, url: /, body: '${v}'}\n")
		u := p.User(1, 0, 1)
		target, _ := ask(t, u)
		failed := u.Answer(target, 200, nil, []byte(`{"v":`+value+`}`))
		next, text := ask(t, u)
		if want == "!" {
			if failed != "capture v" || next.Name() != "f/a" {
				t.Errorf("%.20s: failed %q", value, failed)
			}
		} else if _, got := parse(t, text); got != want {
			t.Errorf("%.20s: %.40q", value, got)
		}
	}
}
