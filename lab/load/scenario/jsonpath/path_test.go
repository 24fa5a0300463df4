package jsonpath

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	const doc = ` { "a" : {"b":[10, {"c": "x\"y\u00e9\ud83d\ude00\/"}, [true,false,null], -1.5e3 ]},
		"first name":"Ann", "é":1, "es\u0063aped":2, "":3, "empty":{}, "none":[], "a.b":4, "twice":1, "twice":2, "brace":"}]\\" }`
	for _, tt := range []struct {
		path, want string
		kind       Kind
	}{
		{"$.a.b[0]", "10", Number},
		{"$.a.b[1].c", `x"yé😀/`, String},
		{"$.a.b[2][0]", "true", Bool},
		{"$.a.b[2][-1]", "null", Null},
		{"$.a.b[-1]", "-1.5e3", Number},
		{"$.a.b[-4]", "10", Number},
		{"$.a.b[2]", "[true,false,null]", Array},
		{"$['first name']", "Ann", String},
		{`$["a"].b[0]`, "10", Number},
		{"$['a.b']", "4", Number},
		{"$.é", "1", Number},
		{"$.escaped", "2", Number},
		{"$['']", "3", Number},
		{"$.empty", "{}", Object},
		{"$.none", "[]", Array},
		{"$.twice", "1", Number},
		{"$.brace", `}]\`, String},
	} {
		p, err := Parse(tt.path)
		if err != nil {
			t.Errorf("%s: %v", tt.path, err)
			continue
		}
		v, ok := p.Find([]byte(doc))
		if !ok || v.Kind != tt.kind || string(v.Text(new([]byte))) != tt.want {
			t.Errorf("%s: %v %d %s", tt.path, ok, v.Kind, v.Text(new([]byte)))
		}
	}
	for _, path := range []string{"$.b", "$.a.b[4]", "$.a.b[-5]", "$.a.b.c", "$.a[0]", "$.empty.x", "$.none[0]", "$.none[-1]", "$['first name'].x"} {
		p, err := Parse(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if v, ok := p.Find([]byte(doc)); ok {
			t.Errorf("%s: found %s", path, v.Raw)
		}
	}
}

func TestWhole(t *testing.T) {
	p, err := Parse("$")
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := p.Find([]byte(" [1] ")); !ok || string(v.Raw) != "[1]" {
		t.Errorf("%s", v.Raw)
	}
}

func TestBroken(t *testing.T) {
	p, err := Parse("$.a")
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range []string{
		"", " ", "{", `{"`, `{"a`, `{"a"`, `{"a":`, `{"a": `, `{"a":"x`, `{"a":"x\"}`, `{"a":[1}`[:7], `{"b":1 "a":2}`, `{"b" 1,"a":2}`,
		`{a:1}`, "<html>", `{"a":,}`, `{"a":}`, `{"a":tru}`, `{"a":nul}`, `{"a":x}`, `["a",1]`, strings.Repeat(`{"b":`, 100000),
	} {
		if v, ok := p.Find([]byte(doc)); ok {
			t.Errorf("%.20q: found %q", doc, v.Raw)
		}
	}
}

func TestErrors(t *testing.T) {
	for path, want := range map[string]string{
		"":        "does not begin with $",
		"a.b":     "does not begin with $",
		"$a":      "is not .name, [0]",
		"$.":      "a dot is followed by a name",
		"$..a":    "a dot is followed by a name",
		"$.*":     "a dot is followed by a name",
		"$[*]":    "brackets contain",
		"$[1:2]":  "brackets contain",
		"$[1":     "brackets contain",
		"$[":      "brackets contain",
		"$['a]":   "does not end in ']",
		"$['a'":   "does not end in ']",
		"$.a b":   "is not .name, [0]",
		"$[?@.a]": "brackets contain",
	} {
		if _, err := Parse(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", path, err, want)
		}
	}
}

func TestAllocs(t *testing.T) {
	p, err := Parse("$.a.b[1].c")
	if err != nil {
		t.Fatal(err)
	}
	doc := []byte(`{"x":"\u0041","a":{"b":[1,{"c":"text"}]}}`)
	if n := testing.AllocsPerRun(100, func() {
		if v, ok := p.Find(doc); !ok || string(v.Text(new([]byte))) != "text" {
			t.Error("not found")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzFind compares with encoding/json on well-formed texts, and looks for panics
// and escapes from the text on all others.
func FuzzFind(f *testing.F) {
	for _, path := range []string{"$", "$.a", "$.a.b[0]", "$[-1]", "$['x y']"} {
		for _, doc := range []string{`{"a":{"b":[1]}}`, `[1,2,"\ud800\udc00"]`, `{"x y":"\n"}`, `{"a":"\ud800"}`, `[[`, `"`} {
			f.Add(path, doc)
		}
	}
	f.Fuzz(func(t *testing.T, path, doc string) {
		p, err := Parse(path)
		if err != nil {
			return
		}
		v, ok := p.Find([]byte(doc))
		if ok && !strings.Contains(doc, string(v.Raw)) {
			t.Fatalf("%q in %q: %q", path, doc, v.Raw)
		}
		text := string(v.Text(new([]byte)))
		if !json.Valid([]byte(doc)) {
			return
		}
		want, found := reference(p, json.RawMessage(doc))
		if found != ok {
			t.Fatalf("%q in %q: found %v, want %v", path, doc, ok, found)
		}
		if s, isString := want.(string); isString && s != strings.ToValidUTF8(text, "\ufffd") && !strings.Contains(s, "\ufffd") {
			t.Fatalf("%q in %q: %q, want %q", path, doc, text, s)
		}
		if ok && v.Kind != String {
			var got any
			if err := json.Unmarshal(v.Raw, &got); err == nil && !reflect.DeepEqual(got, want) {
				t.Fatalf("%q in %q: %v, want %v", path, doc, got, want)
			}
		}
	})
}

// reference reads with encoding/json, token by token, so that it also uses the first of two
// members of a name.
func reference(p Path, doc json.RawMessage) (any, bool) {
	for _, s := range p.steps {
		dec := json.NewDecoder(strings.NewReader(string(doc)))
		open, _ := dec.Token()
		var values []json.RawMessage
		at := -1
		for open == json.Delim('{') && !s.array && dec.More() {
			k, _ := dec.Token()
			var raw json.RawMessage
			if dec.Decode(&raw) != nil {
				return nil, false
			}
			values = append(values, raw)
			if at < 0 && k == s.name {
				at = len(values) - 1
			}
		}
		for open == json.Delim('[') && s.array && dec.More() {
			var raw json.RawMessage
			if dec.Decode(&raw) != nil {
				return nil, false
			}
			values = append(values, raw)
		}
		if s.array {
			if at = s.index; at < 0 {
				at += len(values)
			}
		}
		if at < 0 || at >= len(values) {
			return nil, false
		}
		doc = values[at]
	}
	var v any
	if json.Unmarshal(doc, &v) != nil {
		return nil, true // a number beyond float64
	}
	return v, true
}
