package scenario

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// binder fills the types of file.go from nodes and collects all errors, so that one run
// reports every mistake.
type binder struct {
	name string // of the file
	errs []*Error
}

// maxErrors is the number of errors reported at once; more would hide the first.
const maxErrors = 20

func (b *binder) fail(line int, do, what string, args ...any) {
	if len(b.errs) < maxErrors {
		b.errs = append(b.errs, &Error{File: b.name, Line: line, What: fmt.Sprintf(what, args...), Do: do})
	}
}

// bindable is a type that binds itself because it has a short form.
type bindable interface {
	bind(b *binder, n *node, what string)
}

// bind fills v from n; what names the location in messages.
func (b *binder) bind(n *node, v reflect.Value, what string) {
	if own, ok := v.Addr().Interface().(bindable); ok {
		own.bind(b, n, what)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		b.bind(n, v.Elem(), what)
	case reflect.Struct:
		b.fields(n, v, what)
	case reflect.Slice:
		if n.kind == list && len(n.items) == 0 {
			b.fail(n.line, "write at least one item: [one], or one line beginning with - for each", "%s: the list is empty", what)
			return
		}
		if n.kind != list {
			b.fail(n.line, "write a list: [one, two], or one line beginning with - for each", "%s: found %s, want a list", what, n.describe())
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), len(n.items), len(n.items)))
		for i, item := range n.items {
			b.bind(item, v.Index(i), fmt.Sprintf("%s[%d]", what, i))
		}
	case reflect.Bool:
		if n.kind != boolean {
			b.fail(n.line, "write true or false", "%s: %s", what, n.describe())
			return
		}
		v.SetBool(n.text == "true" || n.text == "True" || n.text == "TRUE")
	case reflect.Int64:
		i, err := strconv.ParseInt(n.text, 10, 64)
		if n.kind != number || err != nil {
			b.fail(n.line, "write a whole number", "%s: %s", what, n.describe())
			return
		}
		v.SetInt(i)
	default:
		panic("scenario: no way to bind " + v.Type().String())
	}
}

func (n *node) describe() string {
	switch n.kind {
	case boolean, number, words:
		return excerpt(n.text)
	case list:
		if len(n.items) == 0 {
			return "an empty list"
		}
	}
	return n.kind.String()
}

// excerpt quotes the start of a text, which may be a whole file.
func excerpt(text string) string {
	const most = 60 // characters
	if r := []rune(text); len(r) > most {
		return strconv.Quote(string(r[:most])) + "…"
	}
	return strconv.Quote(text)
}

// fields fills a struct from a mapping. A field Line gets the mapping's line.
func (b *binder) fields(n *node, v reflect.Value, what string) {
	into := map[string]reflect.Value{}
	var known []string
	collect(v, func(name string, field reflect.Value) {
		into[name] = field
		known = append(known, name)
	})
	if line := v.FieldByName("Line"); line.IsValid() {
		line.SetInt(int64(n.line))
	}
	if n.kind != mapping {
		b.fail(n.line, "write a mapping with "+strings.Join(known, ", "), "%s: found %s, want a mapping", what, n.describe())
		return
	}
	for i, k := range n.keys {
		field, ok := into[k.name]
		if !ok {
			b.fail(k.line, suggest(k.name, known), "%s: unknown key %q", what, k.name)
			continue
		}
		b.bind(n.items[i], field, join(what, k.name))
	}
}

func join(what, name string) string {
	if what == top {
		return name
	}
	return what + "." + name
}

// collect visits the fields that have keys, including those of embedded structs.
func collect(v reflect.Value, visit func(name string, field reflect.Value)) {
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			collect(v.Field(i), visit)
		} else if name := f.Tag.Get("key"); name != "" {
			visit(name, v.Field(i))
		}
	}
}

// suggest returns the known word that was probably meant, and all known words.
func suggest(word string, known []string) string {
	best, least := "", 3 // edits
	for _, k := range known {
		if d := edits(strings.ToLower(word), k); d < least && d < len(k) {
			best, least = k, d
		}
	}
	if len(known) == 0 {
		return "none is known"
	}
	all := "known are " + strings.Join(known, ", ")
	if best != "" {
		return fmt.Sprintf("did you mean %s? %s", best, all)
	}
	return all
}

// edits returns the Levenshtein distance.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// bindFile fills the whole format.
func (b *binder) bindFile(root *node, f *file) { b.bind(root, reflect.ValueOf(f).Elem(), top) }
