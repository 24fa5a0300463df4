package scenario

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/load/scenario/jsonpath"
)

type subject uint8

const (
	ofStatus subject = iota
	ofHeader
	ofCookie
	ofBody
	ofJSON
	ofRegexp
)

type operation uint8

const (
	equals operation = iota
	contains
	matches
	exists
	absent
)

// test is a compiled check.
type test struct {
	name    string
	subject subject
	op      operation
	set     *statusSet
	field   string // in lower case
	path    jsonpath.Path
	want    []byte
	kind    jsonpath.Kind // of want, when compared with a JSON value
	number  float64
	re      *regexp.Regexp
}

// accepted is the check of a target that has no check of the status.
var accepted = func() test {
	set := new(statusSet)
	set.add(200, 399)
	return test{name: "status 2xx, 3xx", set: set}
}()

// holds applies the check. Strings in JSON are decoded into scratch, which is retained.
func (k *test) holds(status int, head, body []byte, scratch *[]byte) bool {
	switch k.subject {
	case ofStatus:
		return k.set.has(status)
	case ofBody:
		return k.compare(body)
	case ofHeader:
		found := false
		for rest := head; ; {
			var value []byte
			var ok bool
			if value, rest, ok = field(rest, k.field); !ok {
				return k.op == absent && !found || k.op == exists && found
			}
			found = true
			if k.op < exists && k.compare(value) {
				return true
			}
		}
	default:
		value, ok := k.path.Find(body)
		if !ok || k.op >= exists {
			return ok == (k.op != absent)
		}
		return k.compareJSON(value, scratch)
	}
}

func (k *test) compare(value []byte) bool {
	switch k.op {
	case contains:
		return bytes.Contains(value, k.want)
	case matches:
		return k.re.Match(value)
	default:
		return bytes.Equal(value, k.want)
	}
}

// compareJSON compares strings by their decoded text, numbers by value, and everything else
// by its text in the JSON.
func (k *test) compareJSON(v jsonpath.Value, scratch *[]byte) bool {
	if k.op == equals && v.Kind != k.kind {
		return false
	}
	if k.op == equals && k.kind == jsonpath.Number && !bytes.Equal(v.Raw, k.want) {
		n, err := strconv.ParseFloat(string(v.Raw), 64)
		return err == nil && n == k.number
	}
	return k.compare(v.Text(scratch))
}

// field returns the value of the next field with that name, in lower case, and the rest
// after it. The status line at the start of a head is not a field.
func field(head []byte, name string) (value, rest []byte, ok bool) {
	for len(head) > 0 {
		line := head
		if at := bytes.IndexByte(head, '\n'); at >= 0 {
			line, head = head[:at], head[at+1:]
		} else {
			head = nil
		}
		if len(line) <= len(name) || line[len(name)] != ':' || !equalFold(line[:len(name)], name) {
			continue
		}
		return bytes.Trim(line[len(name)+1:], " \t\r"), head, true
	}
	return nil, nil, false
}

// equalFold compares b with lower, which is in lower case; ASCII only.
func equalFold(b []byte, lower string) bool {
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// checks compiles the checks of a step and those of the defaults. A check of the status
// replaces the default one.
func (c *compiler) checks(own []check) []test {
	var out []test
	status := false
	for i := range own {
		status = status || own[i].Status.set != nil
		out = c.check(out, &own[i])
	}
	for i := range c.defaults.Checks {
		k := &c.defaults.Checks[i]
		if k.Status.set != nil && status {
			continue
		}
		out = c.check(out, k)
	}
	for i := range out {
		status = status || out[i].subject == ofStatus
	}
	if !status {
		out = append([]test{accepted}, out...)
	}
	return out
}

// check compiles one check and appends it.
func (c *compiler) check(out []test, k *check) []test {
	given := 0
	for _, ok := range []bool{k.Status.set != nil, k.Header != nil, k.Body != nil, k.JSON != nil} {
		if ok {
			given++
		}
	}
	if given != 1 {
		c.fail(k.Line, "start a separate check, beginning with -, for each", "a check has exactly one of status, header, body and json, this one has %d", given)
		return out
	}
	var t test
	ok := true
	switch {
	case k.Status.set != nil:
		t = test{set: k.Status.set, name: "status " + k.Status.text}
	case k.Header != nil:
		t = test{subject: ofHeader, field: strings.ToLower(k.Header.Name.s), name: "header " + k.Header.Name.s}
		if !isToken(t.field) {
			c.fail(k.Line, "write header: {name: Content-Type, contains: json}", "a check on a header without its name")
			return out
		}
		ok = c.compare(&t, &k.Header.comparison, k.Header.Exists, true)
	case k.Body != nil:
		t = test{subject: ofBody, name: "body"}
		ok = c.compare(&t, k.Body, nil, false)
	default:
		t = test{subject: ofJSON, name: "json " + k.JSON.Path.s}
		var good bool
		t.path, good = c.jsonPath(k.JSON.Path, k.Line)
		ok = c.compare(&t, &k.JSON.comparison, k.JSON.Exists, true) && good
	}
	if !ok {
		return out
	}
	t.name = k.Name.or(t.name)
	return append(out, t)
}

// compare compiles the comparison of a value.
func (c *compiler) compare(t *test, k *comparison, present *bool, optional bool) bool {
	given := 0
	for _, ok := range []bool{k.Equals != nil, k.Contains.given(), k.Matches.given(), present != nil} {
		if ok {
			given++
		}
	}
	words := "equals, contains or matches"
	if optional {
		words = "equals, contains, matches or exists"
	}
	if given > 1 || given == 0 && !optional {
		c.fail(k.Line, "write one of "+words, "%s: %d comparisons", t.name, given)
		return false
	}
	switch {
	case k.Equals != nil:
		return c.equals(t, k.Equals.node)
	case k.Contains.given():
		t.op, t.want = contains, []byte(k.Contains.s)
		t.name += fmt.Sprintf(" contains %q", k.Contains.s)
	case k.Matches.given():
		t.op = matches
		t.name += " matches " + k.Matches.s
		var ok bool
		t.re, ok = c.regexp(k.Matches)
		return ok
	case present != nil && !*present:
		t.op = absent
		t.name += " absent"
	default:
		t.op = exists
		t.name += " exists"
	}
	return true
}

func (c *compiler) equals(t *test, n *node) bool {
	if n.kind == list || n.kind == mapping {
		c.fail(n.line, "compare its members one by one", "%s equals %s", t.name, n.describe())
		return false
	}
	t.op, t.want = equals, []byte(n.text)
	if t.subject == ofJSON && n.kind != words {
		t.want = []byte(c.scalar(n))
		t.number, _ = strconv.ParseFloat(n.text, 64) // scalar has rejected anything that is not a number
	}
	t.kind = map[kind]jsonpath.Kind{null: jsonpath.Null, boolean: jsonpath.Bool, number: jsonpath.Number, words: jsonpath.String}[n.kind]
	t.name += fmt.Sprintf(" equals %q", t.want)
	return true
}

func (c *compiler) regexp(t text) (*regexp.Regexp, bool) {
	re, err := regexp.Compile(t.s)
	if err != nil {
		c.fail(t.node.line, "write it in Go's (RE2) syntax, in single quotes", "%v", err)
		return nil, false
	}
	return re, true
}

func (c *compiler) jsonPath(t text, line int) (jsonpath.Path, bool) {
	if !t.given() {
		c.fail(line, "write path: $.name", "a check on JSON without its path")
		return jsonpath.Path{}, false
	}
	p, err := jsonpath.Parse(t.s)
	if err != nil {
		c.fail(t.node.line, "write $, then .name, ['name'] or [0] for each step", "%v", err)
		return p, false
	}
	return p, true
}

// short describes how to write a check on one line.
const short = "write 'status 200', 'body contains welcome', 'header Content-Type contains json' or 'json $.id exists'"

// operators are the operators of the short form. The one that comes first in a check is
// used.
var operators = []string{"equals", "contains", "matches", "exists", "absent"}

// ParseCheck validates a check in its short form, which is also the name of the check in
// results:
//
//	status 200            2xx, 200-299, or several with commas
//	header NAME OP        header NAME exists, header NAME contains json
//	body OP               body equals hello
//	json PATH OP          json $.items[0].id equals 7
//
// OP is equals, contains or matches (a regular expression), followed by a value that
// extends to the end; for header and json it may also be exists or absent. With equals, a
// value that is JSON is compared as JSON, any other value as a string. The error says what
// to write instead.
func ParseCheck(text string) error {
	if _, err := parseCheck(text); err != nil {
		return err
	}
	return nil
}

func parseCheck(s string) (check, *Error) {
	bad := func(what string, args ...any) (check, *Error) {
		return check{}, &Error{File: "check " + fmt.Sprintf("%q", s), What: fmt.Sprintf(what, args...), Do: short}
	}
	subject, rest, _ := strings.Cut(strings.TrimSpace(s), " ")
	rest = strings.TrimSpace(rest)
	k := check{Name: literal(strings.TrimSpace(s), 0)}
	if subject == "status" {
		b := &binder{name: "check"}
		n := &node{kind: list}
		for part := range strings.SplitSeq(rest, ",") {
			n.items = append(n.items, &node{kind: words, text: strings.TrimSpace(part)})
		}
		if k.Status.bind(b, n, "status"); len(b.errs) > 0 {
			return bad("%q is no status", rest)
		}
		return k, nil
	}
	if !slices.Contains([]string{"header", "body", "json"}, subject) {
		return bad("it does not begin with status, header, body or json")
	}
	of, op, value, ok := cutOperator(rest)
	if !ok {
		return bad("it contains none of %s", strings.Join(operators, ", "))
	}
	c, present := comparison{}, (*bool)(nil)
	switch op {
	case "exists", "absent":
		yes := op == "exists"
		if present = &yes; value != "" {
			return bad("%q after %s", value, op)
		}
	case "equals":
		c.Equals = &tree{&node{kind: words, text: value}}
		if subject == "json" {
			c.Equals.node = jsonNode(value)
		}
	case "contains":
		c.Contains = literal(value, 0)
	default:
		c.Matches = literal(value, 0)
	}
	switch {
	case subject == "body" && (of != "" || present != nil):
		return bad("%q is not a comparison for a body", cmp.Or(of, op))
	case subject == "body":
		k.Body = &c
	case subject == "header":
		k.Header = &headerCheck{Name: literal(of, 0), comparison: c, Exists: present}
	default:
		k.JSON = &jsonCheck{Path: literal(of, 0), comparison: c, Exists: present}
	}
	if err := new(compiler).tryCheck(&k); err != nil {
		return bad("%s", err.What)
	}
	return k, nil
}

// tryCheck compiles a single check, and returns its error.
func (c *compiler) tryCheck(k *check) *Error {
	c.binder = &binder{name: "check"}
	c.check(nil, k)
	if len(c.errs) > 0 {
		return c.errs[0]
	}
	return nil
}

// cutOperator splits a check after its subject.
func cutOperator(s string) (of, op, value string, ok bool) {
	at := len(s)
	padded := " " + s + " "
	for _, o := range operators {
		if i := strings.Index(padded, " "+o+" "); i >= 0 && i < at {
			at, op = i, o
		}
	}
	if op == "" {
		return "", "", "", false
	}
	value = strings.TrimPrefix(s[at+len(op):], " ")
	return strings.TrimSpace(s[:at]), op, value, true
}

// jsonNode returns the node of a value to compare JSON with.
func jsonNode(text string) *node {
	if n, err := readJSON("check", []byte(text)); err == nil {
		return n
	}
	return &node{kind: words, text: text}
}
