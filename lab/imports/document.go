package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	maxNesting = 200 // levels of a document in JSON
	maxRefs    = 50  // references that lead to a value
)

// document is a description in YAML or JSON whose values know their lines.
type document struct {
	name string
	root *yaml.Node
}

var yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// parseDocument parses YAML, or JSON if the text begins with a brace.
func parseDocument(name string, source []byte) (*document, error) {
	source = bytes.TrimPrefix(source, []byte("\xef\xbb\xbf"))
	d := &document{name: name}
	if start := bytes.TrimSpace(source); len(start) > 0 && start[0] == '{' && json.Valid(source) {
		dec := json.NewDecoder(bytes.NewReader(source))
		dec.UseNumber()
		var err error
		d.root, err = d.json(source, dec, 0)
		return d, err
	}
	var doc yaml.Node
	err := yaml.Unmarshal(source, &doc)
	if err != nil {
		line := 0
		if at := yamlError.FindStringSubmatch(err.Error()); at != nil {
			line, _ = strconv.Atoi(at[1]) // without a line: 0
		}
		return nil, flaw(name, line, "fix the syntax of the document", "%s", yamlError.ReplaceAllString(err.Error(), ""))
	}
	if len(doc.Content) == 0 {
		return nil, flaw(name, 0, "name an OpenAPI document", "the file is empty")
	}
	d.root = doc.Content[0]
	return d, nil
}

// json converts the next value of valid JSON. YAML's parser would reject some of it.
func (d *document) json(source []byte, dec *json.Decoder, depth int) (*yaml.Node, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	n := &yaml.Node{Kind: yaml.ScalarNode}
	switch t := token.(type) {
	case nil:
		n.Tag, n.Value = "!!null", "null"
	case bool:
		n.Tag, n.Value = "!!bool", strconv.FormatBool(t)
	case json.Number:
		n.Tag, n.Value = "!!int", t.String()
		if strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!float"
		}
	case string:
		n.Tag, n.Value = "!!str", t
	case json.Delim:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		if t == '[' {
			n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		}
		if depth == maxNesting {
			return nil, flaw(d.name, lineOf(source, dec.InputOffset()), "nest it less", "more than %d levels", maxNesting)
		}
		for dec.More() {
			child, err := d.json(source, dec, depth+1)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		_, err = dec.Token()
	}
	return n, err
}

// follow returns the value that an alias, or a mapping with $ref, leads to; nil if it leads
// nowhere within the document.
func (d *document) follow(n *yaml.Node) *yaml.Node {
	for range maxRefs {
		if n == nil {
			return nil
		}
		if n.Kind == yaml.AliasNode {
			n = n.Alias
			continue
		}
		ref := member(n, "$ref")
		if ref == nil || ref.Kind != yaml.ScalarNode {
			return n
		}
		n = d.at(ref.Value)
	}
	return nil
}

// at returns the value at a reference such as #/components/schemas/Pet.
func (d *document) at(ref string) *yaml.Node {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	if decoded, err := url.PathUnescape(pointer); err == nil {
		pointer = decoded
	}
	n := d.root
	if pointer == "" {
		return n
	}
	if pointer[0] != '/' {
		return nil
	}
	for step := range strings.SplitSeq(pointer[1:], "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		if n != nil && n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		if n == nil {
			return nil
		}
		if n.Kind == yaml.SequenceNode {
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(n.Content) {
				return nil
			}
			n = n.Content[i]
			continue
		}
		n = member(n, step)
	}
	return n
}

// get returns a member, to which it follows references.
func (d *document) get(n *yaml.Node, path ...string) *yaml.Node {
	n = d.follow(n)
	for _, name := range path {
		n = d.follow(member(n, name))
	}
	return n
}

// str returns a member that is a scalar, or an empty string.
func (d *document) str(n *yaml.Node, name string) string {
	v := d.get(n, name)
	if v == nil || v.Kind != yaml.ScalarNode || v.ShortTag() == "!!null" {
		return ""
	}
	return v.Value
}

// is reports whether a member is true.
func (d *document) is(n *yaml.Node, name string) bool { return d.str(n, name) == "true" }

// items returns the items of a list.
func (d *document) items(n *yaml.Node) []*yaml.Node {
	if n = d.follow(n); n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// pairs returns the keys and values of a mapping.
func (d *document) pairs(n *yaml.Node) []pair {
	if n = d.follow(n); n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	out := make([]pair, 0, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		out = append(out, pair{n.Content[i].Value, n.Content[i+1], n.Content[i].Line})
	}
	return out
}

type pair struct {
	key   string
	value *yaml.Node
	line  int
}

// member returns a member of a mapping, or nil.
func member(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}
