package results

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSchemaIsDocumented holds docs/results.md to the types: each has its
// section, and each section exactly the fields that the type has.
func TestSchemaIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	if want := fmt.Sprintf("**version %d** of the schema `%s`", SchemaVersion, SchemaName); !strings.Contains(doc, want) {
		t.Errorf("the document lacks %q", want)
	}
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			visit(typ.Elem())
			return
		case reflect.Struct:
		default:
			return
		}
		if seen[typ] || typ.PkgPath() != reflect.TypeFor[File]().PkgPath() {
			return
		}
		seen[typ] = true
		var fields []string
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			fields = append(fields, fmt.Sprint(name, " ", options == "omitempty"))
			visit(f.Type)
		}
		if got := documented(doc, typ.Name()); !slices.Equal(got, fields) {
			t.Errorf("%s: documented %q\nhas %q", typ.Name(), got, fields)
		}
	}
	visit(reflect.TypeFor[File]())
	for _, m := range []Metric{MetricCPU, MetricRate, MetricP50, MetricP99, MetricRSS, MetricAllocs, MetricBytes, MetricP999, MetricConn, MetricCycles, MetricStops, MetricStop, MetricGCCPU} {
		if !strings.Contains(doc, "| `"+string(m)+"` | ") {
			t.Errorf("metric %s is not documented", m)
		}
	}
}

// documented returns the fields in the first table of a section, and whether
// each is said to be optional.
func documented(doc, section string) []string {
	_, rest, _ := strings.Cut(doc, "\n## "+section+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	_, rest, _ = strings.Cut(rest, "| field |")
	rest, _, _ = strings.Cut(rest, "\n\n")
	var out []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` (.*)$").FindAllStringSubmatch(rest, -1) {
		out = append(out, fmt.Sprint(m[1], " ", strings.Contains(m[2], "*optional*")))
	}
	return out
}
