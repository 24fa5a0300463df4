package scenario

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const docs = "../../../docs/"

// schema is docs/scenario.schema.json, and a validator of the keywords that it
// uses.
type schema struct{ root map[string]any }

func readSchema(t *testing.T) *schema {
	t.Helper()
	data, err := os.ReadFile(docs + "scenario.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s schema
	if err := json.Unmarshal(data, &s.root); err != nil {
		t.Fatal(err)
	}
	return &s
}

// def follows references.
func (s *schema) def(m map[string]any) map[string]any {
	for {
		ref, ok := m["$ref"].(string)
		if !ok {
			return m
		}
		name := strings.TrimPrefix(ref, "#/$defs/")
		if m, ok = s.root["$defs"].(map[string]any)[name].(map[string]any); !ok {
			panic("no definition " + ref)
		}
	}
}

// valid returns what is wrong with a value, or "".
func (s *schema) valid(m map[string]any, v any, at string) string {
	for keyword, want := range m {
		if wrong := s.keyword(m, keyword, want, v); wrong != "" {
			return at + ": " + wrong
		}
	}
	return s.children(m, v, at)
}

func (s *schema) any(want any, v any) (matches int, wrong string) {
	for _, w := range want.([]any) {
		if why := s.valid(w.(map[string]any), v, ""); why == "" {
			matches++
		} else {
			wrong = why
		}
	}
	return matches, wrong
}

func (s *schema) keyword(m map[string]any, keyword string, want, v any) string {
	object, isObject := v.(map[string]any)
	array, isArray := v.([]any)
	text, isText := v.(string)
	number, isNumber := v.(float64)
	ok := true
	switch keyword {
	case "$schema", "$defs", "title", "description", "properties", "additionalProperties", "propertyNames", "items":
	case "$ref":
		return s.valid(s.def(m), v, "")
	case "type":
		types, many := want.([]any)
		if !many {
			types = []any{want}
		}
		ok = slices.ContainsFunc(types, func(t any) bool { return isType(t.(string), v) })
	case "enum":
		ok = slices.Contains(want.([]any), v)
	case "anyOf":
		n, wrong := s.any(want, v)
		if n == 0 {
			return wrong
		}
	case "oneOf":
		n, wrong := s.any(want, v)
		if n != 1 {
			return fmt.Sprintf("%d of oneOf: %s", n, wrong)
		}
	case "not":
		ok = s.valid(want.(map[string]any), v, "") != ""
	case "required":
		for _, k := range want.([]any) {
			if _, there := object[k.(string)]; isObject && !there {
				return fmt.Sprintf("%s is missing", k)
			}
		}
	case "minProperties":
		ok = !isObject || len(object) >= int(want.(float64))
	case "maxProperties":
		ok = !isObject || len(object) <= int(want.(float64))
	case "minItems":
		ok = !isArray || len(array) >= int(want.(float64))
	case "maxItems":
		ok = !isArray || len(array) <= int(want.(float64))
	case "minLength":
		ok = !isText || len(text) >= int(want.(float64))
	case "pattern":
		ok = !isText || regexp.MustCompile(want.(string)).MatchString(text)
	case "minimum":
		ok = !isNumber || number >= want.(float64)
	case "maximum":
		ok = !isNumber || number <= want.(float64)
	case "exclusiveMinimum":
		ok = !isNumber || number > want.(float64)
	default:
		panic("the validator does not know " + keyword)
	}
	if !ok {
		return fmt.Sprintf("%v is not %s %v", v, keyword, want)
	}
	return ""
}

func isType(name string, v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return name == "object"
	case []any:
		return name == "array"
	case string:
		return name == "string"
	case bool:
		return name == "boolean"
	case float64:
		return name == "number" || name == "integer" && v == math.Trunc(v)
	default:
		return name == "null"
	}
}

func (s *schema) children(m map[string]any, v any, at string) string {
	object, _ := v.(map[string]any)
	properties, _ := m["properties"].(map[string]any)
	for k, child := range object {
		if names, ok := m["propertyNames"].(map[string]any); ok {
			if wrong := s.valid(names, k, at+"."+k); wrong != "" {
				return wrong
			}
		}
		sub, known := properties[k].(map[string]any)
		if rest, ok := m["additionalProperties"]; ok && !known {
			if rest == false {
				return at + ": unknown key " + k
			}
			sub = rest.(map[string]any)
		}
		if wrong := s.valid(sub, child, at+"."+k); wrong != "" {
			return wrong
		}
	}
	array, _ := v.([]any)
	items, _ := m["items"].(map[string]any)
	for i, child := range array {
		if wrong := s.valid(items, child, fmt.Sprintf("%s[%d]", at, i)); wrong != "" {
			return wrong
		}
	}
	return ""
}

// document reads YAML as a validator of JSON schemas sees it.
func document(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Every example of the reference is accepted by the schema and by the loader, as
// YAML and as JSON.
func TestExamples(t *testing.T) {
	s := readSchema(t)
	text, err := os.ReadFile(docs + "scenario.md")
	if err != nil {
		t.Fatal(err)
	}
	o := options("accounts.csv", "name,password\nann,x\n", "order.json", "{}", "order.tmpl", "${n}")
	o.Base = ""
	examples := regexp.MustCompile("(?s)```(yaml|vegeta)\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(examples) < 5 {
		t.Fatalf("%d examples", len(examples))
	}
	for _, e := range examples {
		names := []string{"s." + e[1]}
		data := map[string][]byte{names[0]: []byte(e[2])}
		if e[1] == "yaml" {
			doc := document(t, e[2])
			if wrong := s.valid(s.root, doc, ""); wrong != "" {
				t.Errorf("%s\n%s", e[2], wrong)
			}
			if data["s.json"], err = json.Marshal(doc); err != nil {
				t.Fatal(err)
			}
			names = append(names, "s.json")
		}
		var wires []string
		for _, name := range names {
			p, err := Parse(name, data[name], o)
			if err != nil {
				t.Errorf("%s\n%v", data[name], err)
				continue
			}
			u := p.User(1, 0, 1)
			target, _ := u.Next()
			r, _ := parse(t, string(u.Append(nil, target)))
			wires = append(wires, r.Method+" "+r.RequestURI)
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
		if len(wires) == 2 && wires[0] != wires[1] {
			t.Errorf("YAML and JSON differ: %q", wires)
		}
	}
}

// Every variable, check and capture in the reference's tables is accepted.
func TestTables(t *testing.T) {
	text, err := os.ReadFile(docs + "scenario.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range regexp.MustCompile("`(\\{[a-z]+: .*?\\})`").FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(m[1], "...") {
			continue
		}
		o := options("users.csv", "name\nann\n")
		var errs []string
		for _, frame := range []string{
			"variables: {v: %s}\ntargets: [{url: /}]\n", "setup: [{url: /, captures: {v: %s}}]\ntargets: [{url: /x}]\n",
		} {
			if _, err := Parse("s.yaml", fmt.Appendf(nil, frame, m[1]), o); err != nil {
				errs = append(errs, err.Error())
			}
		}
		if n++; len(errs) == 2 {
			t.Errorf("%s: %q", m[1], errs)
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `((?:status|header|body|json): [^`]*)`").FindAllStringSubmatch(string(text), -1) {
		if _, err := Parse("s.yaml", fmt.Appendf(nil, "targets: [{url: /, checks: [{%s}]}]\n", m[1]), options()); err != nil {
			t.Errorf("%s: %v", m[1], err)
		}
		n++
	}
	if n < 15 {
		t.Errorf("%d entries", n)
	}
}

// The schema rejects what the loader rejects for its form, and nothing that the
// loader accepts. Conditions on more than one place are beyond a schema.
func TestSchemaRefuses(t *testing.T) {
	s := readSchema(t)
	refused := 0
	for _, f := range flaws {
		if !strings.Contains(f.want, "unknown key") && !strings.Contains(f.want, "kinds") && !strings.Contains(f.want, "comparisons") && !strings.Contains(f.want, "sources") &&
			!strings.Contains(f.want, "weight \"") && !strings.Contains(f.want, "no status code") && !strings.Contains(f.want, "fill \"") {
			continue
		}
		if strings.Contains(f.text, ".nan") || strings.Contains(f.text, ".inf") || strings.Contains(f.text, "1e999") {
			continue // JSON has no such number
		}
		if strings.Contains(f.text, "300-200") {
			continue // a pattern does not compare
		}
		refused++
		if s.valid(s.root, document(t, f.text), "") == "" {
			t.Errorf("%s\nis valid by the schema", f.text)
		}
	}
	if refused < 15 {
		t.Errorf("%d flaws", refused)
	}
	for _, text := range []string{shop, "targets: [{url: /, headers: {A: ~, B: [1, true]}}]\n"} {
		if wrong := s.valid(s.root, document(t, text), ""); wrong != "" {
			t.Errorf("%s\n%s", text, wrong)
		}
	}
}

// Every key of the Go types is in the schema, and every key of the schema in the
// types.
func TestSchemaFields(t *testing.T) {
	s := readSchema(t)
	seen := map[reflect.Type]bool{}
	compare(t, s, s.root, reflect.TypeFor[file](), "file", seen)
	if len(seen) < 15 {
		t.Errorf("%d types", len(seen))
	}
}

func compare(t *testing.T, s *schema, m map[string]any, typ reflect.Type, at string, seen map[reflect.Type]bool) {
	t.Helper()
	m = s.def(m)
	switch {
	case typ.Kind() == reflect.Pointer:
		compare(t, s, m, typ.Elem(), at, seen)
		return
	case typ.Kind() == reflect.Slice && strings.HasPrefix(typ.Name(), "named["):
		value, _ := typ.Elem().FieldByName("value")
		compare(t, s, m["additionalProperties"].(map[string]any), value.Type, at+".*", seen)
		return
	case typ.Kind() == reflect.Slice && typ.Name() == "":
		compare(t, s, m["items"].(map[string]any), typ.Elem(), at+"[]", seen)
		return
	case typ.Kind() != reflect.Struct || seen[typ]:
		return
	}
	keys := map[string]reflect.Type{}
	collect(reflect.New(typ).Elem(), func(name string, f reflect.Value) { keys[name] = f.Type() })
	if len(keys) == 0 {
		return // a leaf
	}
	seen[typ] = true
	forms, _ := m["anyOf"].([]any) // the long form, next to a short one
	for _, form := range forms {
		if d := s.def(form.(map[string]any)); d["type"] == "object" {
			m = d
		}
	}
	properties, _ := m["properties"].(map[string]any)
	if want, got := slices.Sorted(maps.Keys(keys)), slices.Sorted(maps.Keys(properties)); !slices.Equal(want, got) {
		t.Errorf("%s: the schema has %q, the type %q", at, got, want)
		return
	}
	if m["additionalProperties"] != false {
		t.Errorf("%s: the schema lets unknown keys through", at)
	}
	for name, f := range keys {
		if sub := properties[name].(map[string]any); sub["not"] == nil {
			compare(t, s, sub, f, at+"."+name, seen)
		}
	}
}
