package scenario

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

// Each case is a file, and the content of its message: the location, the mistake,
// the remedy.
var flaws = []struct{ text, want string }{
	// The whole file.
	{"", "s.yaml: the file is empty; write at least targets:"},
	{"a: [", "fix the YAML"},
	{"targets:\n- url: /\n---\nx: 1\n", "s.yaml:3: a second document; keep one scenario"},
	{"- url: /\n", `s.yaml:1: a list at the top level, want a mapping; write targets:`},
	{"base: http://h\n", "s.yaml:1: there are no requests; write targets:"},
	{"targets: []\n", "s.yaml:1: targets: the list is empty; write at least one"},
	{"targets:\n- url: /\ntargets:\n- url: /a\n", `s.yaml:3: "targets" appears twice; keep one`},
	{"targets: &a\n- url: /\n  body: {json: *a}\n", "an alias that contains itself"},
	{"targets:\n- url: !!binary aGk=\n", "s.yaml:2: the tag !!binary; write plain text"},
	{"targets:\n- url: /\n  ? [a]\n  : 1\n", "s.yaml:3: a key that is not text; write name: value"},
	{"targets:\n- url: /\n  <<: 1\n", "s.yaml:3: << merges a number; let it refer to a mapping"},

	{strings.Repeat("a:b:c ", 100), `s.yaml:1: "` + strings.Repeat("a:b:c ", 10) + `"… at the top level, want a mapping; write targets:`},

	// Keys and types.
	{"targets:\n- url: /\n  weigth: 2\n", `s.yaml:3: targets[0]: unknown key "weigth"; did you mean weight? known are name, method`},
	{"targets:\n- url: /\nexports: 1\n", `s.yaml:3: scenario: unknown key "exports"; known are base`},
	{"targets:\n- url: /\n  weight: 2\n  captures: {a: {json: $.a}}\n", `s.yaml:2: a target outside of a flow captures "a", which no other request can use; make it a step`},
	{"targets:\n- url: [a]\n", "s.yaml:2: targets[0].url: found a list, want text"},
	{"targets:\n- url:\n", "s.yaml:2: targets[0].url: found nothing, want text; write text"},
	{"targets:\n- url: /\n  headers: x\n", "s.yaml:3: targets[0].headers: found \"x\", want a mapping"},
	{"targets:\n- url: /\n  method: POST\n  body: {file: x, template: 1}\n", `template: "1"; write true or false`},
	{"variables: {a: {counter: {start: x}}}\ntargets:\n- url: /\n", `variables.a.counter.start: "x"; write a whole number`},
	{"variables: []\ntargets:\n- url: /\n", "s.yaml:1: variables: found an empty list, want a mapping with names"},

	// Tags, and several scenarios.
	{"targets:\n- url: /\n  tags: {a b: c}\n", `s.yaml:3: tag "a b"; use letters, digits`},
	{"targets:\n- url: /\n  tags: {a: '${x}'}\n", `s.yaml:3: tag a: "${x}"; write a word without braces`},
	{"targets:\n- url: /\nscenarios:\n- name: a\n  targets: [{url: /a}]\n", "s.yaml:4: targets or flows outside of scenarios; move all targets"},
	{"scenarios:\n- targets: [{url: /a}]\n", "s.yaml:2: a scenario without a name; write name: browse"},
	{"scenarios:\n- name: a\n", `s.yaml:2: there are no requests in scenario "a"; write targets:`},
	{"scenarios:\n- name: a\n  targets: [{url: /a}]\n- name: a\n  targets: [{name: b, url: /a}]\n", `s.yaml:4: "a" is also the name of another scenario`},
	{"scenarios:\n- name: a\n  tags: {scenario: b}\n  targets: [{url: /a}]\n", "s.yaml:2: the tag scenario of every request is the name"},
	{"order: sequence\nscenarios:\n- name: a\n  targets: [{url: /a}]\n", "s.yaml:1: order: with scenarios"},
	{"scenarios:\n- name: a\n  weight: 0\n  targets: [{url: /a}]\n", `s.yaml:3: a: weight "0"`},
	{"flows:\n- name: a\n  steps: [{url: /}]\n- name: a\n  steps: [{url: /x}]\n", `s.yaml:4: "a" is also the name of another flow`},

	// Targets.
	{"targets:\n- name: a\n", "s.yaml:2: a: no url; write url: /path"},
	{"targets:\n- url: items\n", `s.yaml:2: url "items" is neither a path nor a URL; write /path`},
	{"targets:\n- url: ftp://h/\n", `s.yaml:2: "ftp://h/" does not name a server; write http://`},
	{"targets:\n- url: http:///x\n", `s.yaml:2: "http:///x" does not name a server`},
	{"targets:\n- url: http://[::1/x\n", `is no URL; write http://host:port/path`},
	{"targets:\n- url: http://u:p@h/\n", `user information in a URL is not sent; send the header Authorization`},
	{"targets:\n- url: http://${h}/\n", `s.yaml:2: "http://${h}/": variables in the server's name; use variables only in path`},
	{"targets:\n- url: /a b\n", `s.yaml:2: url "/a b": ' ' is not allowed there; write %20`},
	{"targets:\n- url: /a#b\n", `'#' is not allowed there; remove it`},
	{"targets:\n- url: /é\n", `is not allowed there; write %C3`},
	{"targets:\n- url: /100%\n", `'%' is not allowed there; write %25`},
	{"targets:\n- url: /%4g\n", `'%' is not allowed there; write %25`},
	{"targets:\n- url: /\n  method: G T\n", `s.yaml:3: method "G T"; write GET, POST`},
	{"targets:\n- url: /\n  weight: 0\n", `s.yaml:3: GET /: weight "0"; write a number above 0; to disable the target, remove it`},
	{"targets:\n- url: /\n  weight: -1\n", `weight "-1"`},
	{"targets:\n- url: /\n  weight: .nan\n", `weight ".nan"`},
	{"targets:\n- url: /\n  weight: .inf\n", `weight ".inf"`},
	{"targets:\n- url: /\n  weight: 1e999\n", `weight "1e999"`},
	{"targets:\n- url: /\n  weight: lots\n", `weight "lots"`},
	{"order: shuffled\ntargets:\n- url: /\n", `s.yaml:1: order "shuffled"; write order: random or sequence`},
	{"order: sequence\ntargets:\n- url: /\n  weight: 2\n", "s.yaml:4: weights apply only to random order"},
	{"targets:\n- url: /\n- url: /\n", `s.yaml:3: "GET /" is also the name of the target in line 2; give it a unique name`},
	{"flows:\n- steps:\n  - url: /\n", "s.yaml:2: a flow without a name; write name: checkout"},
	{"cookies: true\ntargets:\n- url: /\n  headers: {Cookie: a=1}\n", "a header Cookie with cookies: true; leave out one of the two"},
	{"flows:\n- name: f\n", `s.yaml:2: flow "f" has no steps; write steps:`},

	// Headers.
	{"targets:\n- url: /\n  headers: {a b: c}\n", `s.yaml:3: "a b" is not the name of a header field`},
	{"targets:\n- url: /\n  headers: {Content-Length: 3}\n", "s.yaml:3: Content-Length is set by the body; leave it out"},
	{"targets:\n- url: /\n  headers: {transfer-encoding: chunked}\n", "transfer-encoding is set by the body"},
	{"targets:\n- url: /\n  headers: {A: \"b\\r\\nC: d\"}\n", "s.yaml:3: header A: a line break or control character; write it on one line"},
	{"targets:\n- url: /\n  headers: {Host: \"${vu}\"}\n", "header Host: \"${vu}\"; write a name without variables"},
	{"targets:\n- url: /\n  headers: {A: [[b]]}\n", "headers.A: found a list, want text"},

	// References.
	{"targets:\n- url: /${id}\n", "s.yaml:2: ${id} is not defined here; declare it under variables:, or capture it in an earlier step; none is known"},
	{"variables: {item: {value: 1}}\ntargets:\n- url: /${itme}\n", "did you mean item?"},
	{"targets:\n- url: /${id\n", "s.yaml:2: ${ without }; close it, or write $${"},
	{"targets:\n- url: /${1x}\n", "${1x} is not a variable"},
	{"targets:\n- url: /${vu|upper}\n", `unknown filter "upper"; the filters are raw, url and json`},
	{"targets:\n- url: /${vu.x}\n", "${vu.x}: only rows of CSV files have columns; write ${vu}"},
	{"targets:\n- url: /\n  method: POST\n  body: |\n    one\n    two ${x}\n", "s.yaml:6: ${x} is not defined"},
	{"flows:\n- name: f\n  steps:\n  - url: /${t}\n  - name: login\n    url: /l\n    captures: {t: {json: $.t}}\n", `s.yaml:4: ${t} is captured by step "login", which runs later; move that step before`},
	{"flows:\n- name: f\n  steps:\n  - url: /${t}\n    captures: {t: {json: $.t}}\n", "s.yaml:4: ${t} is captured by step"},
	{"flows:\n- name: f\n  steps:\n  - url: /l\n    captures: {t: {json: $.t}}\ntargets:\n- url: /${t}\n", "s.yaml:7: ${t} is not defined here"},
	{"flows:\n- name: f\n  steps:\n  - url: /l\n    captures: {t: {json: $.t}}\n- name: g\n  steps:\n  - url: /${t}\n", "s.yaml:8: ${t} is not defined here"},
	{"defaults: {headers: {A: \"${t}\"}}\ntargets:\n- url: /\n- url: /b\n", "s.yaml:1: ${t} is not defined here"},

	// Variables.
	{"variables: {a: {}}\ntargets:\n- url: /\n", `s.yaml:1: variable "a" has 0 kinds; write one of value, counter`},
	{"variables: {a: {uuid: v4, value: 1}}\ntargets:\n- url: /\n", `variable "a" has 2 kinds`},
	{"variables: {1a: {uuid: v4}}\ntargets:\n- url: /\n", `variable "1a": the name cannot be used in ${...}`},
	{"variables: {vu: {uuid: v4}}\ntargets:\n- url: /\n", `variable "vu": the name is taken; choose another name; vu is the number`},
	{"variables: {t: {uuid: v4}}\nsetup:\n- url: /l\n  captures: {t: {json: $.t}}\ntargets:\n- url: /\n", `s.yaml:4: capture "t": the name is taken by a variable`},
	{"variables: {a: {uuid: v4, per: hour}}\ntargets:\n- url: /\n", `per "hour"; write per: iteration, request or user`},
	{"variables: {a: {uuid: v7}}\ntargets:\n- url: /\n", `version "v7"; write uuid: v4`},
	{"variables: {a: {int: [5, 1]}}\ntargets:\n- url: /\n", "min 5 is above max 1"},
	{"variables: {a: {int: [5]}}\ntargets:\n- url: /\n", "1 numbers; write [min, max]"},
	{"variables: {a: {int: [1, 1e3]}}\ntargets:\n- url: /\n", `"1e3"; write a whole number`},
	{"variables: {a: {string: 0}}\ntargets:\n- url: /\n", "length 0 is not between"},
	{"variables: {a: {string: {length: 3, alphabet: ''}}}\ntargets:\n- url: /\n", "an empty alphabet; remove alphabet"},
	{"variables: {a: {choice: []}}\ntargets:\n- url: /${a}\n", "variables.a.choice: the list is empty; write at least one"},
	{"variables: {a: {value: '${b}'}, b: {uuid: v4}}\ntargets:\n- url: /${a}${b}\n", `variable "a": "${b}": the value of a variable cannot contain another; write ${b} in place of ${a}, or $${ for ${ itself`},
	{"variables: {a: {choice: [x, '${vu}']}}\ntargets:\n- url: /${a}\n", `"${vu}": the value of a variable cannot contain another`},
	{"variables: {a: {value: '${'}}\ntargets:\n- url: /${a}\n", "write $${ for ${ itself"},
	{"variables: {a: {int: [5, 1]}}\ntargets:\n- url: /${a}\n", "min 5 is above max 1"},
	{"variables: {a: {valeu: 1}}\ntargets:\n- url: /${a}\n", `variables.a: unknown key "valeu"; did you mean value?`},
	{"variables: {a: {csv: gone.csv}}\ntargets:\n- url: /${a.x}\n", "open gone.csv: file does not exist"},

	// CSV.
	{"variables: {u: {csv: gone.csv}}\ntargets:\n- url: /\n", "s.yaml:1: open gone.csv: file does not exist; give the path"},
	{"variables: {u: {csv: {order: random}}}\ntargets:\n- url: /\n", "no file; write csv: users.csv"},
	{"variables: {u: {csv: {file: users.csv, order: any}}}\ntargets:\n- url: /\n", `order "any"; write order: sequence or random`},
	{"variables: {u: {csv: {file: users.csv, separator: ';;'}}}\ntargets:\n- url: /\n", `separator ";;"; write one character`},
	{"variables: {u: {csv: {file: users.csv, separator: ''}}}\ntargets:\n- url: /\n", `separator ""`},
	{"variables: {u: {csv: ragged.csv}}\ntargets:\n- url: /\n", "ragged.csv:3: wrong number of fields; give every row"},
	{"variables: {u: {csv: head.csv}}\ntargets:\n- url: /\n", "head.csv contains no rows; name the columns"},
	{"variables: {u: {csv: users.csv}}\ntargets:\n- url: /${u}\n", "s.yaml:3: ${u} is a row of users.csv; write ${u.name}; the columns are name, mail"},
	{"variables: {u: {csv: users.csv}}\ntargets:\n- url: /${u.namme}\n", `users.csv has no column "namme"; did you mean name? known are name, mail`},

	// Tokens.
	{"variables: {j: {jwt: {key: x}}}\ntargets:\n- url: /\n", `algorithm ""; write algorithm: with one of HS256`},
	{"variables: {j: {jwt: {algorithm: none, key: x}}}\ntargets:\n- url: /\n", `algorithm "none"`},
	{"variables: {j: {jwt: {algorithm: HS256}}}\ntargets:\n- url: /\n", "it needs exactly one of key and key_file; write key:"},
	{"variables: {j: {jwt: {algorithm: HS256, key: a, key_file: b}}}\ntargets:\n- url: /\n", "one of key and key_file"},
	{"variables: {j: {jwt: {algorithm: HS256, key: ''}}}\ntargets:\n- url: /\n", "an empty key; write the secret"},
	{"variables: {j: {jwt: {algorithm: HS256, key_file: gone}}}\ntargets:\n- url: /\n", "open gone: file does not exist"},
	{"variables: {j: {jwt: {algorithm: RS256, key: secret}}}\ntargets:\n- url: /\n", "no private key in PEM; give RS256 a private key"},
	{"variables: {j: {jwt: {algorithm: RS256, key_file: p256.pem}}}\ntargets:\n- url: /\n", "a key on P-256 for RS256"},
	{"variables: {j: {jwt: {algorithm: ES384, key_file: p256.pem}}}\ntargets:\n- url: /\n", "a key on P-256 for ES384"},
	{"variables: {j: {jwt: {algorithm: ES256, key_file: rsa.pem}}}\ntargets:\n- url: /\n", "an RSA key for ES256"},
	{"variables: {j: {jwt: {algorithm: ES256, key_file: ed.pem}}}\ntargets:\n- url: /\n", "an Ed25519 key for ES256"},
	{"variables: {j: {jwt: {algorithm: ES256, key_file: broken.pem}}}\ntargets:\n- url: /\n", "asn1"},
	{"variables: {j: {jwt: {algorithm: HS256, key: a, lifetime: 5}}}\ntargets:\n- url: /\n", `lifetime "5"; write lifetime: 5m`},
	{"variables: {j: {jwt: {algorithm: HS256, key: a, lifetime: 1m, claims: {exp: 1}}}}\ntargets:\n- url: /\n", "drop lifetime, or iat and exp"},
	{"variables: {j: {jwt: {algorithm: HS256, key: a, claims: 1}}}\ntargets:\n- url: /\n", `claims are "1"; write claims:`},
	{"variables: {j: {jwt: {algorithm: HS256, key: a, header: 1}}}\ntargets:\n- url: /\n", `header is "1"; write header: {kid: one}`},
	{"variables: {j: {jwt: {algorithm: HS256, key: a, header: {alg: none}}}}\ntargets:\n- url: /\n", "header alg is set by algorithm; remove it"},
	{"variables:\n  j: {jwt: {algorithm: HS256, key: a, claims: {a: '${k}'}}}\n  k: {jwt: {algorithm: HS256, key: a, claims: {}}}\ntargets:\n- url: /\n", "${k}"},
	{"variables:\n  j: {jwt: {algorithm: HS256, key: a}}\n  k: {jwt: {algorithm: HS256, key: a, claims: {a: '${j}'}}}\ntargets:\n- url: /\n", "s.yaml:3: ${j} is a JWT, which the claims of a JWT cannot contain"},

	// Checks and captures.
	{"targets:\n- url: /\n  checks:\n  - {}\n", "s.yaml:4: a check has exactly one of status, header, body and json, this one has 0"},
	{"targets:\n- url: /\n  checks:\n  - {status: 200, body: {contains: x}}\n", "this one has 2; start a separate check"},
	{"targets:\n- url: /\n  checks: [{status: 20}]\n", `checks[0].status: "20" is not a status code; write 200, 2xx`},
	{"targets:\n- url: /\n  checks: [{status: [200, OK]}]\n", `"OK" is not a status code`},
	{"targets:\n- url: /\n  checks: [{status: 300-200}]\n", `"300-200" is not a status code`},
	{"targets:\n- url: /\n  checks: [{status: []}]\n", "no status code; write 200"},
	{"targets:\n- url: /\n  checks: [{body: {}}]\n", "body: 0 comparisons; write one of equals, contains or matches"},
	{"targets:\n- url: /\n  checks: [{body: {contains: a, equals: b}}]\n", "body: 2 comparisons"},
	{"targets:\n- url: /\n  checks: [{body: {matches: '('}}]\n", "missing closing ): `(`; write it in Go's (RE2) syntax"},
	{"targets:\n- url: /\n  checks: [{header: {contains: a}}]\n", "a check on a header without its name; write header: {name:"},
	{"targets:\n- url: /\n  checks: [{json: {equals: a}}]\n", "a check on JSON without its path; write path: $.name"},
	{"targets:\n- url: /\n  checks: [{json: {path: a.b}}]\n", `path "a.b" does not begin with $`},
	{"targets:\n- url: /\n  checks: [{json: {path: $.a, equals: [1]}}]\n", "json $.a equals a list; compare its members one by one"},
	{"targets:\n- url: /\n  checks: [{json: {path: $.a, equals: 0x10}}]\n", "JSON has no number 0x10; write the number in decimal"},
	{"setup:\n- url: /l\n  captures: {t: {}}\ntargets:\n- url: /\n", `s.yaml:3: capture "t" has 0 sources; write one of header, cookie, json and regexp`},
	{"setup:\n- url: /l\n  captures: {t: {json: $.a, header: B}}\ntargets:\n- url: /\n", `capture "t" has 2 sources`},
	{"setup:\n- url: /l\n  captures: {t: {regexp: '(a)(b)'}}\ntargets:\n- url: /\n", "2 groups; keep one pair of parentheses"},
	{"setup:\n- url: /l\n  captures: {t: {header: 'a b'}}\ntargets:\n- url: /\n", `"a b" is not a field name`},
	{"setup:\n- url: /l\n  captures: {'t t': {header: a}}\ntargets:\n- url: /\n", `capture "t t": the name cannot be used`},

	// Bodies and think time.
	{"targets:\n- url: /\n  body: x\n", "s.yaml:2: GET /: a body without a method; write method: POST"},
	{"targets:\n- url: /\n  method: POST\n  body: {}\n", "s.yaml:4: a body of 0 kinds; write one of text, json"},
	{"targets:\n- url: /\n  method: POST\n  body: {text: a, size: 1}\n", "a body of 2 kinds"},
	{"targets:\n- url: /\n  method: POST\n  body: {text: a, template: true}\n", "template applies only to file"},
	{"targets:\n- url: /\n  method: POST\n  body: {text: a, fill: zero}\n", "fill applies only to size"},
	{"targets:\n- url: /\n  method: POST\n  body: {size: big}\n", `"big" is not a size; write bytes, or a size such as`},
	{"targets:\n- url: /\n  method: POST\n  body: {size: 1, fill: nulls}\n", `fill "nulls"; write fill: random, text or zero`},
	{"targets:\n- url: /\n  method: POST\n  body: {size: 1, chunked: often}\n", `chunked: "often"; write chunked: true`},
	{"targets:\n- url: /\n  method: POST\n  body: {file: gone}\n", "s.yaml:4: open gone: file does not exist; give the path"},
	{"targets:\n- url: /\n  method: POST\n  body: {file: dir}\n", "dir is not a regular file"},
	{"targets:\n- url: /\n  method: POST\n  body: {file: gone, template: true}\n", "open gone: file does not exist"},
	{"targets:\n- url: /\n  method: POST\n  body: {file: tmpl, template: true}\n", "tmpl:2: ${nobody} is not defined"},
	{"targets:\n- url: /\n  method: POST\n  body: {json: {a: 0x10}}\n", "JSON has no number 0x10"},
	{"targets:\n- url: /\n  think: 12\n", `s.yaml:3: distribution "12"`},
	{"targets:\n- url: /\n  think: file:gone\n", "open gone: file does not exist"},

	// The base.
	{"base: /x\ntargets:\n- url: /\n", `does not name a server`},
	{"base: http://h/?q\ntargets:\n- url: /\n", "a base cannot have a query or variables; write http://host:port"},
	{"base: http://h/${vu}\ntargets:\n- url: /\n", "a base cannot have a query or variables"},
	{"targets:\n- url: /x\n", `s.yaml:2: url "/x": there is no base to put it under; write base:`},
}

func TestFlaws(t *testing.T) {
	fsys := files(
		"users.csv", "name,mail\nann,a@x\n", "ragged.csv", "a,b\n1,2\n3\n", "head.csv", "a,b\n", "dir/x", "", "tmpl", "a\n${nobody}",
		"rsa.pem", string(pemOf(t, rsaKey(t))), "p256.pem", string(pemOf(t, p256)), "ed.pem", string(pemOf(t, ed)),
		"broken.pem", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
	)
	for _, tt := range flaws {
		o := Options{FS: fsys, Base: "http://h:1"}
		if strings.HasPrefix(tt.text, "base:") || strings.Contains(tt.want, "no base") {
			o.Base = ""
		}
		_, err := Parse("s.yaml", []byte(tt.text), o)
		if err == nil {
			t.Errorf("%s\nis accepted; want %s", tt.text, tt.want)
			continue
		}
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\n got %v\nwant %s", tt.text, err, tt.want)
		}
		var e *Error
		if !errors.As(err, &e) || e.What == "" || e.Do == "" || e.File == "" {
			t.Errorf("%s\n%#v is no whole message", tt.text, e)
		}
	}
}

// All mistakes are reported together, sorted and once each.
func TestAllAtOnce(t *testing.T) {
	_, err := Parse("s.yaml", []byte("defaults: {headers: {A: '${x}'}}\ntargets:\n- url: a\n  wait: 1\n- url: /b\n  weight: 0\n"), options())
	want := "s.yaml:1: ${x}\ns.yaml:3: url\ns.yaml:4: targets[0]: unknown key\ns.yaml:6: GET /b: weight"
	lines := strings.Split(err.Error(), "\n")
	for i, w := range strings.Split(want, "\n") {
		if i >= len(lines) || !strings.HasPrefix(lines[i], w) {
			t.Fatalf("got\n%v\nwant\n%s", err, want)
		}
	}
	if len(lines) != 4 {
		t.Errorf("got\n%v", err)
	}
	_, err = Parse("s.yaml", []byte("targets:\n"+strings.Repeat("- {url: x, a: 1, b: 2}\n", 100)), options())
	if n := strings.Count(err.Error(), "\n") + 1; n != maxErrors {
		t.Errorf("%d errors", n)
	}
}

// A mistake in a variable is reported once, and not again where the variable is used.
func TestBrokenVariable(t *testing.T) {
	for _, v := range []string{"{int: [5, 1]}", "{value: '${b}'}", "{valeu: 1}", "{uuid: v7}", "{csv: gone.csv}", "{jwt: {algorithm: none, key: k}}", "{choice: []}"} {
		_, err := Parse("s.yaml", []byte("variables: {a: "+v+"}\ntargets:\n- url: /${a}\n- url: /other/${a}\n"), options())
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want one sentence", v, err)
		}
	}
}

func TestFlawsJSON(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "s.json:1: unexpected EOF; fix the JSON",
		"{\n\"targets\": [\n":              "s.json:2: unexpected EOF",
		"{\n\"targets\": [{\"url\":/}]}":   "s.json:2: invalid character '/'",
		"{\"a\":1,\n\"a\":2}":              `s.json:2: "a" appears twice`,
		"{}\n{}":                           "unexpected text after the end",
		"{\"targets\":[\n{\"url\":1}]}":    `s.json:2: url "1" is neither`,
		strings.Repeat("[", 200):           "nested too deeply",
		"{\"targets\":[\n\n{\"urls\":1}]}": "s.json:3: targets[0]: unknown key \"urls\"; did you mean url?",
	} {
		if _, err := Parse("s.json", []byte(text), options()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestMissing(t *testing.T) {
	if _, err := Load("gone.yaml", options()); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Load(t.TempDir()+"/gone.yaml", Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestFlawsSingle(t *testing.T) {
	for want, r := range map[string]Request{
		`command line: url "x" is neither a path nor a URL`:      {URL: "x"},
		`command line: header "x"; write Name: value`:            {URL: "/", Header: []string{"x"}},
		"command line: the body is a text and a size; give one":  {URL: "/", Body: "a", Size: 1},
		"command line: chunks without a body":                    {URL: "/", Chunked: true},
		"command line: open gone: file does not exist; give the": {URL: "/", File: "gone"},
		"command line: Content-Length is set by the body":        {URL: "/", Header: []string{"Content-Length: 1"}},
	} {
		if _, err := Single(r, options()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v:\n got %v\nwant %s", r, err, want)
		}
	}
}
