package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

type kind uint8

const (
	null kind = iota
	boolean
	number
	words // a string
	list
	mapping
)

func (k kind) String() string {
	return [...]string{"nothing", "true or false", "a number", "text", "a list", "a mapping"}[k]
}

// node is a value of a scenario file, either YAML or JSON, with its line.
type node struct {
	kind  kind
	line  int
	block bool   // the text begins on the next line, as it does after | in YAML
	text  string // of a scalar, as written
	keys  []key  // of a mapping
	items []*node
}

type key struct {
	name string
	line int
}

// lineAt returns the line of the byte at an offset of n's text, as far as the format
// allows.
func (n *node) lineAt(offset int) int {
	if !n.block {
		return n.line
	}
	return n.line + 1 + strings.Count(n.text[:offset], "\n")
}

// Limits on the content of a file, so that a small file cannot fill the memory with
// aliases.
const (
	maxDepth = 100
	maxNodes = 1 << 20
)

// converter converts a YAML document to nodes.
type converter struct {
	name  string
	nodes int
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// readYAML parses the only document of a YAML file.
func readYAML(name string, text []byte) (*node, error) {
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF):
		return nil, &Error{File: name, What: "the file is empty", Do: "write at least targets: with one url in it"}
	case err != nil:
		at := yamlLine.FindStringSubmatch(err.Error())
		e := &Error{File: name, What: err.Error(), Do: "fix the YAML: check the indentation, and quote text that contains : or #"}
		if at != nil {
			e.Line, _ = strconv.Atoi(at[1]) // without a line: 0
			e.What = err.Error()[len(at[0]):]
		}
		return nil, e
	}
	var second yaml.Node
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, &Error{File: name, Line: second.Line, What: "a second document", Do: "keep one scenario in a file, without --- between"}
	}
	c := converter{name: name}
	return c.convert(doc.Content[0], 0)
}

func (c *converter) convert(y *yaml.Node, depth int) (*node, error) {
	if c.nodes++; c.nodes > maxNodes || depth > maxDepth {
		return nil, &Error{File: c.name, Line: y.Line, What: "too large or nested too deeply, perhaps by an alias that contains itself", Do: "write it with fewer aliases"}
	}
	n := &node{line: y.Line}
	switch y.Kind {
	case yaml.AliasNode:
		return c.convert(y.Alias, depth+1)
	case yaml.SequenceNode:
		n.kind = list
		for _, item := range y.Content {
			child, err := c.convert(item, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, child)
		}
	case yaml.MappingNode:
		n.kind = mapping
		return n, c.mapping(n, y, depth)
	default:
		n.text = y.Value
		n.block = y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
		switch y.ShortTag() {
		case "!!null":
			n.kind = null
		case "!!bool":
			n.kind = boolean
		case "!!int", "!!float":
			n.kind = number
		case "!!str", "!!timestamp":
			n.kind = words
		default:
			return nil, &Error{File: c.name, Line: y.Line, What: "the tag " + y.Tag, Do: "write plain text, numbers, lists and mappings"}
		}
	}
	return n, nil
}

// mapping converts the members of a YAML mapping. Members merged with << come after the
// mapping's own, which take precedence.
func (c *converter) mapping(n *node, y *yaml.Node, depth int) error {
	var merged []*node
	for i := 0; i < len(y.Content); i += 2 {
		k := y.Content[i]
		child, err := c.convert(y.Content[i+1], depth+1)
		if err != nil {
			return err
		}
		if k.ShortTag() == "!!merge" {
			if child.kind == list {
				merged = append(merged, child.items...)
			} else {
				merged = append(merged, child)
			}
			continue
		}
		if k.Kind != yaml.ScalarNode {
			return &Error{File: c.name, Line: k.Line, What: "a key that is not text", Do: "write name: value"}
		}
		if err := n.add(c.name, key{k.Value, k.Line}, child); err != nil {
			return err
		}
	}
	for _, m := range merged {
		if m.kind != mapping {
			return &Error{File: c.name, Line: m.line, What: "<< merges " + m.kind.String(), Do: "let it refer to a mapping"}
		}
		for i, k := range m.keys {
			if n.get(k.name) == nil {
				n.keys, n.items = append(n.keys, k), append(n.items, m.items[i])
			}
		}
	}
	return nil
}

// add appends a member, or returns an error if one with its name exists.
func (n *node) add(file string, k key, value *node) error {
	if n.get(k.name) != nil {
		return &Error{File: file, Line: k.line, What: fmt.Sprintf("%q appears twice", k.name), Do: "keep one of them"}
	}
	n.keys, n.items = append(n.keys, k), append(n.items, value)
	return nil
}

// get returns the member with that name, or nil.
func (n *node) get(name string) *node {
	for i, k := range n.keys {
		if k.name == name {
			return n.items[i]
		}
	}
	return nil
}

// jsonReader converts JSON to nodes. The YAML parser would reject \ud83d\ude00, and explain
// mistakes in terms of YAML.
type jsonReader struct {
	name string
	text []byte
	dec  *json.Decoder
	at   int // offset up to which lines are counted
	line int
}

func readJSON(name string, text []byte) (*node, error) {
	r := &jsonReader{name: name, text: text, dec: json.NewDecoder(bytes.NewReader(text)), line: 1}
	r.dec.UseNumber()
	n, err := r.read(0)
	if err == nil {
		if _, end := r.dec.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("unexpected text after the end of the scenario")
		}
	}
	var own *Error
	switch {
	case err == nil:
		return n, nil
	case errors.As(err, &own):
		return nil, err
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		r.count(int(syntax.Offset))
	} else {
		r.count(int(r.dec.InputOffset()))
	}
	return nil, &Error{File: name, Line: r.line, What: err.Error(), Do: "fix the JSON: no comments, no comma after the last member, keys in double quotes"}
}

// count advances the line to an offset.
func (r *jsonReader) count(offset int) {
	if offset = min(offset, len(r.text)); offset > r.at {
		r.line += bytes.Count(r.text[r.at:offset], []byte("\n"))
		r.at = offset
	}
}

func (r *jsonReader) read(depth int) (*node, error) {
	token, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	r.count(int(r.dec.InputOffset()))
	n := &node{line: r.line}
	switch t := token.(type) {
	case nil:
	case bool:
		n.kind, n.text = boolean, strconv.FormatBool(t)
	case json.Number:
		n.kind, n.text = number, t.String()
	case string:
		n.kind, n.text = words, t
	case json.Delim:
		if depth > maxDepth {
			return nil, &Error{File: r.name, Line: r.line, What: "nested too deeply", Do: fmt.Sprintf("nest at most %d levels", maxDepth)}
		}
		n.kind = mapping
		if t == '[' {
			n.kind = list
		}
		return n, r.members(n, depth)
	}
	return n, nil
}

// members reads up to the end of a list or a mapping.
func (r *jsonReader) members(n *node, depth int) error {
	for r.dec.More() {
		var k key
		if n.kind == mapping {
			name, err := r.read(depth + 1)
			if err != nil {
				return err
			}
			k = key{name.text, name.line}
		}
		child, err := r.read(depth + 1)
		if err != nil {
			return err
		}
		if n.kind == list {
			n.items = append(n.items, child)
		} else if err := n.add(r.name, k, child); err != nil {
			return err
		}
	}
	_, err := r.dec.Token()
	return err
}
