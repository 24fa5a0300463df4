package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/load/scenario"
)

// Vegeta reads targets in one of vegeta's formats: http, a method and a URL followed by header
// fields and @FILE, or json, an object on each line. name is that of the source in errors.
func Vegeta(name string, source []byte) (*Scenario, error) {
	s := &Scenario{Sequence: true}
	if start := bytes.TrimSpace(source); len(start) > 0 && start[0] == '{' {
		return s, s.jsonTargets(name, source)
	}
	list, err := scenario.Targets(name, source)
	if err != nil {
		return nil, err
	}
	for _, t := range list {
		r := Request{Line: t.Line, Method: t.Method, URL: t.URL}
		for _, h := range t.Header {
			field, value, _ := strings.Cut(h, ":")
			r.Header = append(r.Header, Field{field, strings.TrimSpace(value)})
		}
		if t.File != "" {
			r.Body = &Body{File: t.File}
		}
		if err := s.target(name, r); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// target checks and adds a request of vegeta.
func (s *Scenario) target(name string, r Request) error {
	s.framing(&r)
	if err := s.check(name, &r); err != nil {
		return err
	}
	return s.add(name, r)
}

// framing removes header fields that describe a connection or the length of a body, which the
// generator sets itself.
func (s *Scenario) framing(r *Request) {
	if v, _ := r.get("Transfer-Encoding"); r.Body != nil && strings.EqualFold(v, "chunked") {
		r.Body.Chunked = true
	}
	if v, _ := r.get("Connection"); strings.EqualFold(v, "close") {
		s.note("Connection: close is left out: redline load --requests-per-connection 1 uses a connection for each request")
	}
	if _, ok := r.get("Expect"); ok {
		s.note("Expect is left out: the generator sends a body at once")
	}
	for _, f := range []string{"Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Proxy-Connection", "TE", "Upgrade", "HTTP2-Settings", "Expect", "Trailer"} {
		r.remove(f)
	}
}

// jsonTargets reads the format json.
func (s *Scenario) jsonTargets(name string, source []byte) error {
	dec := json.NewDecoder(bytes.NewReader(source))
	line, counted := 1, 0 // line at the offset up to which lines are counted
	for dec.More() {
		start := int(dec.InputOffset())
		start = len(source) - len(bytes.TrimLeft(source[start:], " \t\r\n"))
		line += bytes.Count(source[counted:start], []byte("\n"))
		counted = start
		var t struct {
			Method string              `json:"method"`
			URL    string              `json:"url"`
			Body   []byte              `json:"body"`
			Header map[string][]string `json:"header"`
		}
		if err := dec.Decode(&t); err != nil {
			if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
				line = lineOf(source, syntax.Offset)
			}
			return flaw(name, line, `write {"method": "GET", "url": "http://host:port/"} on a line, the body in base64`, "%v", err)
		}
		r := Request{Line: line, Method: t.Method, URL: t.URL}
		if t.Method == "" || t.URL == "" {
			return flaw(name, line, `write {"method": "GET", "url": "http://host:port/"}`, "a target without method or url")
		}
		for _, field := range slices.Sorted(maps.Keys(t.Header)) {
			for _, value := range t.Header[field] {
				r.Header = append(r.Header, Field{field, value})
			}
		}
		if len(t.Body) > 0 {
			r.Body = &Body{Text: string(t.Body)}
		}
		if err := s.target(name, r); err != nil {
			return err
		}
	}
	if rest := bytes.TrimSpace(source[dec.InputOffset():]); len(rest) > 0 {
		return flaw(name, lineOf(source, dec.InputOffset()), "write one object on each line", "unexpected %.20q after a target", rest)
	}
	return nil
}
