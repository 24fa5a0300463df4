package imports

import (
	"cmp"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// OpenAPIOptions are choices for OpenAPI documents.
type OpenAPIOptions struct {
	Base string // replaces the server of the document
	All  bool   // import writes too: POST, PUT, PATCH and DELETE
}

// OpenAPI reads a description of an interface, OpenAPI 3.0 or 3.1, in YAML or JSON. Each
// operation becomes a target, with values from examples, defaults and schemas. name is that of
// the source in errors.
func OpenAPI(name string, source []byte, o OpenAPIOptions) (*Scenario, error) {
	d, err := parseDocument(name, source)
	if err != nil {
		return nil, err
	}
	version := d.str(d.root, "openapi")
	switch {
	case d.str(d.root, "swagger") != "":
		return nil, flaw(name, 0, "convert it to OpenAPI 3 first", "a document of Swagger %.20q", d.str(d.root, "swagger"))
	case !strings.HasPrefix(version, "3."):
		return nil, flaw(name, 0, "name a document of OpenAPI 3.0 or 3.1", "this is not an OpenAPI document of version 3: openapi is %.20q", version)
	}
	a := &api{document: d, scenario: &Scenario{}, all: o.All}
	a.base = o.Base
	if a.base == "" {
		a.base = a.server()
	}
	if strings.Contains(a.base, "{") {
		return nil, flaw(name, 0, "give --base http://host:port", "the server %.100q has a variable without a default", a.base)
	}
	if !strings.Contains(a.base, "://") {
		a.scenario.note("the document does not name a server: give the URL to redline load, or --base here")
	}
	for _, p := range a.pairs(member(d.root, "paths")) {
		if err := a.path(p); err != nil {
			return nil, err
		}
	}
	if a.writes > 0 {
		a.scenario.note("%s that may change data left out; --all imports them", count(a.writes, "operation"))
	}
	if len(a.secured) > 0 {
		a.scenario.note("some operations require authentication (%s): give it to redline load, for example -H 'Authorization: Bearer ...'", strings.Join(a.secured, ", "))
	}
	return a.scenario, nil
}

// api is the state of reading one document.
type api struct {
	*document
	scenario *Scenario
	base     string
	all      bool
	writes   int      // operations that were left out
	secured  []string // names of security schemes that operations require
}

// server returns the URL of the first server, its variables replaced by their defaults.
func (a *api) server() string {
	servers := a.items(member(a.root, "servers"))
	if len(servers) == 0 {
		return ""
	}
	if len(servers) > 1 {
		a.scenario.note("the document names %d servers; the first one is used: --base chooses another", len(servers))
	}
	u := a.str(servers[0], "url")
	for _, v := range a.pairs(a.get(servers[0], "variables")) {
		if value := a.str(v.value, "default"); value != "" {
			u = strings.ReplaceAll(u, "{"+v.key+"}", value)
		}
	}
	return u
}

// path adds the operations of a path.
func (a *api) path(p pair) error {
	if !strings.HasPrefix(p.key, "/") {
		return nil // an extension, x-...
	}
	item := a.follow(p.value)
	if item == nil {
		a.elsewhere(p.key + " left out")
		return nil
	}
	if member(item, "servers") != nil {
		a.scenario.note("the servers of %s are ignored: a scenario loads one server", p.key)
	}
	for _, op := range a.pairs(item) {
		method := strings.ToUpper(op.key)
		switch method {
		case "GET", "HEAD":
		case "POST", "PUT", "PATCH", "DELETE":
			if !a.all {
				a.writes++
				continue
			}
		default:
			continue // a key that is not a method, or a method without use in a load
		}
		if err := a.operation(p.key, method, item, op); err != nil {
			return err
		}
	}
	return nil
}

// elsewhere notes what follows from a reference to another file.
func (a *api) elsewhere(what string) {
	a.scenario.note("%s: the document refers to another file, or to something that it does not contain; bundle it into one file first", what)
}

// placeholder matches a parameter in a path.
var placeholder = regexp.MustCompile(`\{([^{}/]+)\}`)

// operation adds one operation.
func (a *api) operation(path, method string, item *yaml.Node, op pair) error {
	operation := a.follow(op.value)
	if operation == nil || member(operation, "requestBody") != nil && a.get(operation, "requestBody") == nil {
		a.elsewhere(method + " " + path + " is sent without what is described there")
	}
	r := Request{Line: op.line, Method: method, Name: cmp.Or(a.str(operation, "operationId"), method+" "+path)}
	var query []string
	filled := path
	for _, p := range a.parameters(item, operation) {
		at, name := a.str(p, "in"), a.str(p, "name")
		if at != "path" && !a.is(p, "required") && !a.exemplified(p) {
			continue
		}
		v := a.parameter(p)
		switch at {
		case "path":
			filled = strings.ReplaceAll(filled, "{"+name+"}", url.PathEscape(joined(v, ",")))
		case "query":
			query = append(query, a.query(p, name, v)...)
		case "header":
			if !slices.Contains([]string{"accept", "content-type", "authorization"}, strings.ToLower(name)) {
				r.set(name, oneLine(joined(v, ",")))
			}
		case "cookie":
			cookie, _ := r.get("Cookie")
			r.remove("Cookie")
			r.set("Cookie", strings.TrimPrefix(cookie+"; "+name+"="+url.QueryEscape(joined(v, ",")), "; "))
		}
	}
	if missing := placeholder.FindAllString(filled, -1); len(missing) > 0 {
		a.scenario.note("%s: the document does not describe %s; the scenario sends 1", r.Name, strings.Join(missing, ", "))
		filled = placeholder.ReplaceAllString(filled, "1")
	}
	r.URL = strings.TrimSuffix(a.base, "/") + filled
	if len(query) > 0 {
		r.URL += "?" + strings.Join(query, "&")
	}
	if !strings.Contains(r.URL, "://") && !strings.HasPrefix(r.URL, "/") {
		r.URL = "/" + r.URL
	}
	a.security(operation)
	if why := a.content(&r, operation); why != "" {
		a.scenario.note("%s left out: %s", r.Name, why)
		return nil
	}
	a.scenario.framing(&r)
	if err := a.scenario.check(a.name, &r); err != nil {
		return err
	}
	return a.scenario.add(a.name, r)
}

// parameters returns the parameters of an operation; they replace those of its path.
func (a *api) parameters(item, operation *yaml.Node) []*yaml.Node {
	var out []*yaml.Node
	for _, list := range []*yaml.Node{member(item, "parameters"), member(operation, "parameters")} {
		for _, p := range a.items(list) {
			if p = a.follow(p); p == nil {
				a.elsewhere("a parameter left out")
				continue
			}
			same := func(q *yaml.Node) bool {
				return a.str(q, "name") == a.str(p, "name") && a.str(q, "in") == a.str(p, "in")
			}
			if i := slices.IndexFunc(out, same); i >= 0 {
				out[i] = p
			} else {
				out = append(out, p)
			}
		}
	}
	return out
}

// exemplified reports whether a parameter, or its schema, has an example.
func (a *api) exemplified(p *yaml.Node) bool {
	for _, n := range []*yaml.Node{p, a.get(p, "schema")} {
		if a.get(n, "example") != nil || a.get(n, "examples") != nil {
			return true
		}
	}
	return false
}

// parameter returns the value of a parameter.
func (a *api) parameter(p *yaml.Node) *yaml.Node {
	s := &sampler{document: a.document}
	if v := s.example(p); v != nil {
		return v
	}
	schema := a.get(p, "schema")
	for _, media := range a.pairs(member(p, "content")) {
		schema = a.get(media.value, "schema")
	}
	if v := s.value(schema); v != nil {
		return v
	}
	return text("string")
}

// query returns the pairs of a parameter in a query.
func (a *api) query(p *yaml.Node, name string, v *yaml.Node) []string {
	name = url.QueryEscape(name)
	explode := a.str(p, "explode") != "false"
	var out []string
	switch {
	case v.Kind == yaml.SequenceNode && explode:
		for _, item := range v.Content {
			out = append(out, name+"="+url.QueryEscape(joined(item, ",")))
		}
	case v.Kind == yaml.MappingNode && explode:
		for i := 0; i+1 < len(v.Content); i += 2 {
			key := url.QueryEscape(v.Content[i].Value)
			if a.str(p, "style") == "deepObject" {
				key = name + "%5B" + key + "%5D"
			}
			out = append(out, key+"="+url.QueryEscape(joined(v.Content[i+1], ",")))
		}
	default:
		out = append(out, name+"="+url.QueryEscape(joined(v, ",")))
	}
	return out
}

// joined returns a value as one text.
func joined(v *yaml.Node, separator string) string {
	if v.Kind == yaml.ScalarNode {
		return strings.ReplaceAll(v.Value, "$${", "${") // escaped for JSON bodies
	}
	parts := make([]string, len(v.Content))
	for i, item := range v.Content {
		parts[i] = joined(item, separator)
	}
	return strings.Join(parts, separator)
}

// oneLine replaces what a header field cannot contain.
func oneLine(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, s)
}

// security records the schemes that an operation requires.
func (a *api) security(operation *yaml.Node) {
	list := member(operation, "security")
	if list == nil {
		list = member(a.root, "security")
	}
	for _, alternative := range a.items(list) {
		for _, scheme := range a.pairs(alternative) {
			if !slices.Contains(a.secured, scheme.key) && len(a.secured) < 10 {
				a.secured = append(a.secured, scheme.key)
			}
		}
	}
}

// content sets the body of an operation, or returns why it cannot be generated.
func (a *api) content(r *Request, operation *yaml.Node) (why string) {
	body := a.get(operation, "requestBody")
	types := a.pairs(member(body, "content"))
	if len(types) == 0 {
		return ""
	}
	rank := func(p pair) int {
		kind, _, _ := strings.Cut(strings.ToLower(p.key), ";")
		return slices.IndexFunc([]bool{kind == "application/json", strings.HasSuffix(kind, "+json"), kind == "application/x-www-form-urlencoded", strings.HasPrefix(kind, "text/"), true}, func(b bool) bool { return b })
	}
	best := slices.MinFunc(types, func(p, q pair) int { return cmp.Compare(rank(p), rank(q)) })
	s := &sampler{document: a.document}
	media := a.follow(best.value)
	v := s.example(media)
	if v == nil && rank(best) < 4 {
		v = s.value(a.get(media, "schema"))
	}
	if s.full {
		a.scenario.note("%s: a part of the body is left out, because it is large", r.Name)
	}
	switch {
	case v == nil && a.is(body, "required"):
		return "no body can be generated for " + best.key
	case v == nil:
		return ""
	case rank(best) < 2 && v.Tag == "!!str" && json.Valid([]byte(joined(v, ""))): // an example written as text
		r.Body = &Body{Text: joined(v, "")}
		r.set("Content-Type", best.key)
	case rank(best) < 2:
		r.Body = &Body{JSON: v}
	case rank(best) == 2:
		var pairs []string
		for i := 0; i+1 < len(v.Content) && v.Kind == yaml.MappingNode; i += 2 {
			pairs = append(pairs, url.QueryEscape(v.Content[i].Value)+"="+url.QueryEscape(joined(v.Content[i+1], ",")))
		}
		r.Body = &Body{Text: strings.Join(pairs, "&")}
	case v.Kind != yaml.ScalarNode:
		return "no body can be generated for " + best.key
	default:
		r.Body = &Body{Text: joined(v, "")}
	}
	if !strings.Contains(best.key, "*") && best.key != "application/json" {
		r.set("Content-Type", best.key)
	}
	return ""
}
