package scenario

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestSplitTemplate(t *testing.T) {
	for text, want := range map[string][]part{
		"":                  nil,
		"plain $ text$":     {{literal: "plain $ text$"}},
		"${a}":              {{name: "a"}},
		"x${a}${b-1}y":      {{literal: "x"}, {name: "a", offset: 1}, {name: "b-1", offset: 5}, {literal: "y"}},
		"${ a.first name }": {{name: "a", column: "first name"}},
		"${a.b|c|raw}":      {{name: "a", column: "b|c", filter: "raw"}},
		"$${a} $$ ${a|url}": {{literal: "${a} $$ "}, {name: "a", filter: "url", offset: 9}},
		"$$${a}":            {{literal: "$${a}"}},
	} {
		got, err := splitTemplate(text)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// $${ is a literal ${ in a value too.
func TestLiteralValue(t *testing.T) {
	p := compiled(t, "variables: {a: {value: '$${x}$'}, b: {choice: ['$${y}']}}\ntargets:\n- {method: POST, url: /, body: '${a}${b}'}\n")
	if _, body := parse(t, wire(t, p)); body != "${x}$${y}" {
		t.Errorf("body %q", body)
	}
}

// hostile is a value that tries to end every place that can contain it.
const hostile = "a b\r\nX: y\"\\</ü%?#&=\x00\x7f\xff"

func TestHostileValues(t *testing.T) {
	p := compiled(t, `
setup:
- {name: take, url: /, captures: {v: {json: $.v}}}
targets:
- name: all
  method: POST
  url: /p/${v}/x?q=${v}
  headers: {A: "<${v}>", B: "${v|url}"}
  body: {json: {s: "<${v}>", list: ["${v}", 1.50, true, null], "k\"": ""}}
`)
	u := p.User(1, 0, 1)
	target, _ := ask(t, u)
	quotedValue, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	value := strings.ToValidUTF8(hostile, "\ufffd") // JSON contains only valid UTF-8
	if failed := u.Answer(target, 200, nil, []byte(`{"v":`+string(quotedValue)+`}`)); failed != "" {
		t.Fatal(failed)
	}
	_, wire := ask(t, u)
	r, body := parse(t, wire)
	if r.URL.Path != "/p/"+value+"/x" || r.URL.Query().Get("q") != value {
		t.Errorf("url %q", r.URL)
	}
	if got := r.Header.Get("A"); len(r.Header) != 4 || strings.ContainsAny(got, "\r\n\x00\x7f") || !strings.HasPrefix(got, "<a b  X: y\"") || !strings.HasSuffix(got, ">") {
		t.Errorf("header %q", r.Header)
	}
	if got, err := url.QueryUnescape(r.Header.Get("B")); err != nil || got != value {
		t.Errorf("header %q", r.Header)
	}
	var got struct {
		S    string
		List []any
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || got.S != "<"+value+">" || got.List[0] != value || len(got.List) != 4 {
		t.Errorf("body %q: %v", body, err)
	}
	if !strings.Contains(body, `1.50,true,null],"k\"":""`) {
		t.Errorf("body %q", body)
	}
}

func TestFilters(t *testing.T) {
	p := compiled(t, `
order: sequence
variables: {v: {value: '/a?b="c"&d=e f'}, n: {value: 12}}
targets:
- name: all
  method: PUT
  url: /${v}?x=${v|raw}
  headers: {A: "${v|raw}"}
  body: '${v} ${v|raw} ${v|url} ${v|json} $${v}'
- {name: json, method: PUT, url: /, body: {json: {n: "${n|raw}", s: "${n}", t: "x${n|raw}"}}}
- {name: form, method: PUT, url: /, body: {form: {"a b": "x&${v}", c: "${n}"}}}
`)
	u := p.User(1, 0, 1)
	_, text := ask(t, u)
	r, body := parse(t, text)
	if want := "/%2Fa%3Fb%3D%22c%22%26d%3De%20f?x=/a?b=%22c%22&d=e%20f"; r.RequestURI != want {
		t.Errorf("uri %s\nwant %s", r.RequestURI, want)
	}
	if r.Header.Get("A") != `/a?b="c"&d=e f` {
		t.Errorf("header %q", r.Header)
	}
	if want := `/a?b="c"&d=e f /a?b="c"&d=e f %2Fa%3Fb%3D%22c%22%26d%3De%20f /a?b=\"c\"&d=e f ${v}`; body != want {
		t.Errorf("body %s\nwant %s", body, want)
	}
	_, text = ask(t, u)
	if r, body = parse(t, text); body != `{"n":12,"s":"12","t":"x12"}` || r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%v %s", r.Header, body)
	}
	_, text = ask(t, u)
	r, body = parse(t, text)
	form, err := url.ParseQuery(body)
	if err != nil || form.Get("a b") != `x&/a?b="c"&d=e f` || form.Get("c") != "12" || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		t.Errorf("%v %s, %v", r.Header, body, err)
	}
}

// FuzzTemplate checks the encoding of every place for any template and any value.
func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"", "x", "${v}", "a${v}b${v|raw}", "$${v}", "${v|json}${v|url}", "${", "${v.x}", "$", "{}"} {
		f.Add(s, hostile)
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		parts, err := splitTemplate(text)
		if err != nil {
			return
		}
		// The parts of a split template add up to the template.
		var again strings.Builder
		for _, p := range parts {
			if p.name == "" {
				again.WriteString(strings.ReplaceAll(p.literal, "${", "$${"))
				continue
			}
			if !isName(p.name) {
				t.Fatalf("%q: name %q", text, p.name)
			}
			again.WriteString("${" + p.name)
			if p.column != "" {
				again.WriteString("." + p.column)
			}
			if p.filter != "" {
				again.WriteString("|" + p.filter)
			}
			again.WriteString("}")
		}
		back, err := splitTemplate(again.String())
		same := slices.EqualFunc(parts, back, func(a, b part) bool { a.offset, b.offset = 0, 0; return a == b })
		if dollar := slices.ContainsFunc(parts, func(p part) bool { return strings.HasSuffix(p.literal, "$") }); err != nil || !same && !dollar {
			t.Fatalf("%q: %+v, again %q: %+v, %v", text, parts, again.String(), back, err)
		}
		for _, place := range []encoding{query, inTarget, inField, quoted} {
			out := string(place.append(nil, []byte(value)))
			switch place {
			case query, inTarget:
				// A raw value may contain escapes, valid or not.
				plain, err := url.PathUnescape(out)
				if place == query && (err != nil || plain != value) || strings.ContainsAny(out, " \r\n#\"") {
					t.Fatalf("%q in a URL: %q, %v", value, out, err)
				}
			case inField:
				if len(out) != len(value) || strings.ContainsAny(out, "\r\n\x00") {
					t.Fatalf("%q in a field: %q", value, out)
				}
			case quoted:
				var plain string
				if err := json.Unmarshal([]byte(`"`+out+`"`), &plain); err != nil || plain != strings.ToValidUTF8(value, "\ufffd") && !strings.Contains(plain, "\ufffd") {
					t.Fatalf("%q in JSON: %q, %v", value, out, err)
				}
			}
		}
	})
}
