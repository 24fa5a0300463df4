package imports

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/redline-go/redline/lab/load/scenario"
)

// YAML returns the scenario as a file, after [Scenario.Finish]. The loader has accepted it: an
// error says which part it refuses.
func (s *Scenario) YAML() ([]byte, error) {
	file, err := s.render()
	if err == nil {
		err = s.accepted()
	}
	if err != nil {
		return nil, err
	}
	return file, nil
}

func (s *Scenario) render() ([]byte, error) {
	root := mapping()
	if s.Base != "" {
		root.put("base", text(s.Base))
	}
	if s.Sequence && s.Flow == "" && len(s.Requests) > 1 {
		root.put("order", text("sequence"))
	}
	if len(s.defaults) > 0 {
		d := mapping()
		d.put("headers", headers(s.defaults))
		root.put("defaults", d.Node)
	}
	if len(s.variables) > 0 {
		all := mapping()
		for _, v := range s.variables {
			one := mapping()
			one.put("value", text(literal(v.Value)))
			all.put(v.Name, one.Node)
		}
		root.put("variables", all.Node)
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for i := range s.Requests {
		list.Content = append(list.Content, s.Requests[i].node())
	}
	if s.Flow == "" {
		root.put("targets", list)
	} else {
		flow := mapping()
		flow.put("name", text(s.Flow))
		flow.put("steps", list)
		root.put("flows", &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{flow.Node}})
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(root.Node); err != nil {
		return nil, fmt.Errorf("write the scenario: %w", err)
	}
	if err := enc.Close(); err != nil {
		return nil, fmt.Errorf("write the scenario: %w", err)
	}
	return out.Bytes(), nil
}

// accepted loads the scenario as redline load does, without the files that bodies name:
// whether they exist is checked when it is used.
func (s *Scenario) accepted() error {
	probe := *s
	probe.Requests = slices.Clone(s.Requests)
	for i := range probe.Requests {
		if b := probe.Requests[i].Body; b != nil && b.File != "" {
			probe.Requests[i].Body = &Body{Text: "content", Chunked: b.Chunked}
		}
	}
	file, err := probe.render()
	if err != nil {
		return err
	}
	plan, err := scenario.Parse("scenario.yaml", file, scenario.Options{Base: cmp.Or(s.Base, "http://localhost")})
	if err != nil {
		return fmt.Errorf("the source makes a scenario that cannot be loaded: %w", err)
	}
	return plan.Close()
}

// node returns the request as a target or step.
func (r *Request) node() *yaml.Node {
	m := mapping()
	if r.Name != "" {
		m.put("name", text(r.Name))
	}
	if r.Method != "GET" || r.Body != nil {
		m.put("method", text(r.Method))
	}
	m.put("url", text(literal(r.URL)))
	if len(r.Header) > 0 {
		m.put("headers", headers(r.Header))
	}
	if r.Body != nil {
		m.put("body", r.Body.node())
	}
	if r.Status != 0 {
		status := mapping()
		status.put("status", number(strconv.Itoa(r.Status)))
		m.put("checks", &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{status.Node}})
	}
	if r.Think > 0 {
		m.put("think", text(r.Think.Round(time.Millisecond).String()))
	}
	return m.Node
}

func (b *Body) node() *yaml.Node {
	m := mapping()
	switch {
	case b.JSON != nil:
		m.put("json", b.JSON)
	case b.File != "":
		m.put("file", text(b.File))
	case !b.Chunked:
		return text(literal(b.Text))
	default:
		m.put("text", text(literal(b.Text)))
	}
	if b.Chunked {
		m.put("chunked", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"})
	}
	return m.Node
}

// headers returns header fields as a mapping. Fields with the same name become a list.
func headers(fields []Field) *yaml.Node {
	m := mapping()
	at := map[string]int{} // of the value in m, by name in lower case
	for _, f := range fields {
		value := text(literal(f.Value))
		if name, ok := strings.CutPrefix(f.Value, reference); ok {
			value = text("${" + name + "}")
		}
		lower := strings.ToLower(f.Name)
		i, ok := at[lower]
		if !ok {
			m.put(f.Name, value)
			at[lower] = len(m.Content) - 1
			continue
		}
		if old := m.Content[i]; old.Kind != yaml.SequenceNode {
			m.Content[i] = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{old}}
		}
		m.Content[i].Content = append(m.Content[i].Content, value)
	}
	return m.Node
}

// literal escapes a text so that ${ is not a variable.
func literal(s string) string { return strings.ReplaceAll(s, "${", "$${") }

// object is a mapping under construction.
type object struct{ *yaml.Node }

func mapping() object { return object{&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}} }

func (o object) put(key string, value *yaml.Node) {
	o.Content = append(o.Content, text(key), value)
}

// text returns a string, quoted where YAML would take it for something else. Only text of
// several plain lines is written as a block.
func text(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	for _, c := range s {
		if c < ' ' && c != '\n' || c == 0x7f || c == 0x85 || c == 0x2028 || c == 0x2029 || c == 0xfeff {
			n.Style = yaml.DoubleQuotedStyle
			return n
		}
	}
	if strings.Contains(s, "\n") && strings.TrimSpace(s) == strings.TrimSuffix(s, "\n") {
		n.Style = yaml.LiteralStyle
	} else if strings.Contains(s, "\n") {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

func number(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: s} }
