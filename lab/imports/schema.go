package imports

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	maxDepth  = 20   // levels of a generated value
	maxValues = 2000 // values in a generated body
	maxItems  = 10   // items of a generated list
	maxText   = 4096 // characters of a generated string
	maxParts  = 100  // schemas that allOf combines
)

// sampler generates a value that a schema allows, as far as it describes one.
type sampler struct {
	*document
	open   []*yaml.Node // schemas whose value is being generated
	values int          // that were generated
	full   bool         // values were left out because there are too many
}

// example returns the example that a parameter, a media type or a schema contains, or nil.
func (s *sampler) example(n *yaml.Node) *yaml.Node {
	if v := s.get(n, "example"); v != nil {
		return s.copy(v, 0)
	}
	list := s.get(n, "examples")
	for _, p := range s.pairs(list) { // named, of a parameter or media type
		if v := s.get(p.value, "value"); v != nil {
			return s.copy(v, 0)
		}
	}
	if items := s.items(list); len(items) > 0 { // of a schema in OpenAPI 3.1
		return s.copy(items[0], 0)
	}
	return nil
}

// copy returns a value without aliases, comments and styles. References within are values.
func (s *sampler) copy(n *yaml.Node, depth int) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if s.values++; n == nil || depth > maxDepth || s.values > maxValues {
		s.full = true
		return null()
	}
	out := &yaml.Node{Kind: n.Kind, Tag: n.ShortTag(), Value: n.Value}
	if n.Kind == yaml.ScalarNode {
		return scalar(out)
	}
	if n.Kind != yaml.MappingNode && n.Kind != yaml.SequenceNode || n.Kind == yaml.AliasNode {
		return null()
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i++ {
		if n.Kind == yaml.SequenceNode {
			out.Content = append(out.Content, s.copy(n.Content[i], depth+1))
			continue
		}
		if key := n.Content[i]; i+1 < len(n.Content) && key.Kind == yaml.ScalarNode && !seen[key.Value] {
			seen[key.Value] = true
			out.Content = append(out.Content, text(key.Value), s.copy(n.Content[i+1], depth+1))
		}
		i++
	}
	out.Tag = map[yaml.Kind]string{yaml.MappingNode: "!!map", yaml.SequenceNode: "!!seq"}[n.Kind]
	return out
}

// scalar returns a scalar that JSON can express.
func scalar(n *yaml.Node) *yaml.Node {
	switch n.Tag {
	case "!!null":
		return null()
	case "!!bool":
		n.Value = strings.ToLower(n.Value)
		if n.Value == "true" || n.Value == "false" {
			return n
		}
	case "!!int", "!!float":
		f, err := strconv.ParseFloat(n.Value, 64)
		if err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) && jsonNumber(n.Value) {
			return n
		}
	}
	return text(literal(n.Value))
}

// jsonNumber reports whether a number is written as in JSON.
func jsonNumber(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' || len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		return false
	}
	return !strings.ContainsAny(digits, "_xXob:") && !strings.HasSuffix(digits, ".") && !strings.Contains(digits, ".e") && !strings.Contains(digits, ".E")
}

func null() *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"} }

// value generates a value of a schema.
func (s *sampler) value(schema *yaml.Node) *yaml.Node {
	schema = s.follow(schema)
	if s.values++; schema == nil || schema.Kind != yaml.MappingNode {
		return text("string") // true: anything is allowed
	}
	if len(s.open) >= maxDepth || s.values > maxValues || slices.Contains(s.open, schema) {
		s.full = s.full || s.values > maxValues
		return nil
	}
	s.open = append(s.open, schema)
	defer func() { s.open = s.open[:len(s.open)-1] }()
	if v := s.example(schema); v != nil {
		return v
	}
	for _, name := range []string{"const", "default"} {
		if v := s.get(schema, name); v != nil {
			return s.copy(v, 0)
		}
	}
	if items := s.items(member(schema, "enum")); len(items) > 0 {
		return s.copy(items[0], 0)
	}
	for _, name := range []string{"oneOf", "anyOf"} {
		for _, one := range s.items(member(schema, name)) {
			if s.str(one, "type") == "null" {
				continue
			}
			if v := s.value(one); v != nil && v.Kind != yaml.MappingNode {
				return v
			} else if v != nil {
				return s.merge(v, schema)
			}
		}
	}
	return s.typed(schema)
}

// merge adds the properties of a schema itself to those of its first alternative.
func (s *sampler) merge(v, schema *yaml.Node) *yaml.Node {
	own := s.object(schema)
	for i := 0; i < len(own.Content); i += 2 {
		if member(v, own.Content[i].Value) == nil {
			v.Content = append(v.Content, own.Content[i], own.Content[i+1])
		}
	}
	return v
}

// typed generates a value of the schema's type.
func (s *sampler) typed(schema *yaml.Node) *yaml.Node {
	switch kind := s.kind(schema); kind {
	case "object":
		return s.object(schema)
	case "array":
		return s.array(schema)
	case "integer", "number":
		return s.number(schema, kind == "integer")
	case "boolean":
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"}
	case "null":
		return null()
	case "allOf":
		parts := s.items(member(schema, "allOf"))
		return s.value(parts[0])
	default:
		return s.string(schema)
	}
}

// kind returns the type of a schema, which may follow from its other members.
func (s *sampler) kind(schema *yaml.Node) string {
	if t := s.str(schema, "type"); t != "" {
		return t
	}
	for _, t := range s.items(member(schema, "type")) { // OpenAPI 3.1
		if t.Kind == yaml.ScalarNode && t.Value != "null" {
			return t.Value
		}
	}
	switch {
	case member(schema, "properties") != nil || member(schema, "additionalProperties") != nil:
		return "object"
	case member(schema, "items") != nil:
		return "array"
	case member(schema, "minimum") != nil || member(schema, "maximum") != nil:
		return "number"
	}
	parts := s.items(member(schema, "allOf"))
	if len(parts) == 0 {
		return "string"
	}
	for _, p := range s.parts(schema) {
		if p != schema && (member(p, "properties") != nil || s.str(p, "type") == "object") {
			return "object"
		}
	}
	return "allOf"
}

// parts returns a schema and all schemas that its allOf combines, directly or indirectly.
func (s *sampler) parts(schema *yaml.Node) []*yaml.Node {
	out := []*yaml.Node{schema}
	for i := 0; i < len(out); i++ {
		for _, p := range s.items(member(out[i], "allOf")) {
			if p = s.follow(p); p != nil && !slices.Contains(out, p) && len(out) < maxParts {
				out = append(out, p)
			}
		}
	}
	return out
}

// object generates the properties that are required, and those that have an example or a
// default. If no property is required, it generates all.
func (s *sampler) object(schema *yaml.Node) *yaml.Node {
	out := mapping()
	parts := s.parts(schema)
	var required []string
	for _, p := range parts {
		for _, r := range s.items(member(p, "required")) {
			required = append(required, r.Value)
		}
	}
	for _, p := range parts {
		for _, property := range s.pairs(member(p, "properties")) {
			needed := slices.Contains(required, property.key)
			wanted := len(required) == 0 || s.get(property.value, "example") != nil || s.get(property.value, "default") != nil
			if !needed && !wanted || s.is(property.value, "readOnly") || member(out.Node, property.key) != nil {
				continue
			}
			if v := s.value(property.value); v != nil {
				out.put(property.key, v)
			} else if needed {
				out.put(property.key, null()) // the schema contains itself
			}
		}
	}
	return out.Node
}

func (s *sampler) array(schema *yaml.Node) *yaml.Node {
	out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	n := 1
	if least, err := strconv.Atoi(s.str(schema, "minItems")); err == nil {
		n = min(max(least, 1), maxItems)
	}
	for range n {
		v := s.value(member(schema, "items"))
		if v == nil {
			break // the schema contains itself
		}
		out.Content = append(out.Content, v)
	}
	return out
}

// number generates the smallest number that is allowed and not below 1, if possible.
func (s *sampler) number(schema *yaml.Node, whole bool) *yaml.Node {
	bound := func(name string) (float64, bool) {
		f, err := strconv.ParseFloat(s.str(schema, name), 64)
		return f, err == nil && math.Abs(f) < 1<<53
	}
	step := 1.0
	if m, ok := bound("multipleOf"); ok && m > 0 {
		step = m
	}
	v := step
	if least, ok := bound("minimum"); ok && (v < least || s.is(schema, "exclusiveMinimum") && v <= least) {
		v = math.Ceil(least/step) * step
		if s.is(schema, "exclusiveMinimum") && v <= least {
			v += step
		}
	}
	if least, ok := bound("exclusiveMinimum"); ok && v <= least {
		v = (math.Floor(least/step) + 1) * step
	}
	if most, ok := bound("maximum"); ok && v > most {
		v = math.Floor(most/step) * step
		if s.is(schema, "exclusiveMaximum") && v >= most {
			v -= step
		}
	}
	if most, ok := bound("exclusiveMaximum"); ok && v >= most {
		v = (math.Ceil(most/step) - 1) * step
	}
	if math.IsNaN(v) || math.Abs(v) > 1e300 {
		v = 1
	}
	if whole || v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return number(strconv.FormatInt(int64(v), 10))
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: strconv.FormatFloat(v, 'f', -1, 64)}
}

// formats are examples of the formats of strings.
var formats = map[string]string{
	"date-time": "2026-01-31T12:00:00Z", "date": "2026-01-31", "time": "12:00:00Z", "duration": "PT1M",
	"uuid": "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "email": "user@example.com", "idn-email": "user@example.com",
	"uri": "https://example.com/", "url": "https://example.com/", "iri": "https://example.com/", "uri-reference": "/path",
	"hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "byte": "cmVkbGluZQ==", "password": "password-1",
	"json-pointer": "/a", "regex": ".*",
}

func (s *sampler) string(schema *yaml.Node) *yaml.Node {
	v, ok := formats[s.str(schema, "format")]
	if !ok {
		v = "string"
		if least, err := strconv.Atoi(s.str(schema, "minLength")); err == nil && least > len(v) {
			v = strings.Repeat("string", min(least, maxText)/len(v)+1)[:min(least, maxText)]
		}
		if most, err := strconv.Atoi(s.str(schema, "maxLength")); err == nil && most >= 0 && most < len(v) {
			v = v[:most]
		}
	}
	return text(v)
}
