package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/load/objective"
	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/load/spec"
)

// users is what userFlags come to.
type users struct {
	scenario *spec.Scenario // nil: request is sent again and again
	asks     []ask          // of the scenario, before the run
	judge    *scenario.User // of their answers
	names    []string       // of its targets
	streamed int64          // bytes of a body that is no part of the request's wire
	slow     spec.Slow
	dials    float64 // a second; 0: no limit
	maxBody  int64
}

// ask is a request that is sent once before the run.
type ask struct {
	request
	target *scenario.Target
}

// maxAsks bounds the requests before a run: a file may hold thousands.
const maxAsks = 20

// largeBody is from where on a file is streamed and not kept.
const largeBody = 64 << 10

// plain reports whether the loop needs no scenario: there is one request, of
// whose answers the status is all that matters.
func (p *plan) plain() (bool, error) {
	if p.bodyFile != "" {
		info, err := os.Stat(p.bodyFile)
		if err != nil {
			return false, readable("body-file", p.bodyFile, err)
		}
		if info.Size() > largeBody {
			return false, nil
		}
	}
	return p.upload == "" && !p.chunked && len(p.checks) == 0 && p.think == "", nil
}

// single is one request that a scenario is made of.
func (p *plan) single(rawURL string) error {
	u, err := parseURL(rawURL)
	if err != nil {
		return err
	}
	size := int64(0)
	if p.upload != "" {
		if size, err = scenario.ParseSize(p.upload); err != nil || size == 0 {
			return fmt.Errorf("--upload %s: write bytes as 4096, 64KiB or 100MB", p.upload)
		}
	}
	u.Fragment = "" // it is never sent
	s := &spec.Scenario{
		Request: &scenario.Request{Method: p.method, URL: u.String(), Header: p.headers, Body: p.body, File: p.bodyFile, Size: size, Chunked: p.chunked},
		Think:   p.think, Check: p.checks,
	}
	if !slices.ContainsFunc(p.headers, func(h string) bool { name, _, _ := strings.Cut(h, ":"); return strings.EqualFold(name, "user-agent") }) {
		s.Request.Header = append([]string{"User-Agent: redline"}, p.headers...)
	}
	if p.status != 0 {
		s.Check = append(slices.Clone(s.Check), fmt.Sprintf("status %d", p.status))
	}
	return p.compile(s, u)
}

// mix is a scenario file.
func (p *plan) mix(rawURL string) error {
	s := &spec.Scenario{Name: p.targets, Think: p.think, Set: p.headers, Check: p.checks}
	var u *url.URL
	var err error
	if rawURL != "" {
		if u, err = parseURL(rawURL); err != nil {
			return err
		}
		if u.RawQuery != "" || u.Fragment != "" {
			return fmt.Errorf("%q: with --targets the URL is what the file's paths are put under, and ends with its path; write %s://%s", rawURL, u.Scheme, u.Host)
		}
		s.Base = u.String()
	}
	if p.targets == "-" {
		s.Name = "standard input"
		s.Text, err = io.ReadAll(os.Stdin)
	} else {
		s.Text, err = os.ReadFile(p.targets)
	}
	if err != nil {
		return readable("targets", p.targets, err)
	}
	return p.compile(s, u)
}

// readable says why a flag's file is not.
func readable(flag, name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--%s %s: there is no such file", flag, name)
	}
	return fmt.Errorf("--%s: %w", flag, err)
}

// compile looks whether a generator can play a scenario. Without a URL its server
// is where the scenario says.
func (p *plan) compile(s *spec.Scenario, u *url.URL) (err error) {
	compiled, err := s.Plan()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, compiled.Close()) }()
	origins := compiled.Origins()
	if len(origins) > 1 {
		return fmt.Errorf("%s: requests to %s and %s: write a file for each server, and run them beside each other", s.Name, origins[0].Addr, origins[1].Addr)
	}
	if compiled.Sequential() && p.pipeline > 1 {
		return fmt.Errorf("--pipeline %d: flows and setup of %s wait for each answer; leave --pipeline out", p.pipeline, s.Name)
	}
	server := serverOf(compiled)
	at, err := parseURL(server)
	switch {
	case err != nil:
		return err
	case u == nil:
		u = at
	case u.Scheme != at.Scheme || u.Hostname() != at.Hostname() || portOf(u) != portOf(at):
		return fmt.Errorf("%s: all of its URLs are whole ones, of %s; leave %s out", s.Name, server, u)
	}
	p.scenario, p.request.url, p.judge = s, u, compiled.User(p.seed, 0, 1)
	if s.Request != nil {
		p.describe(compiled.Targets()[0])
	}
	return p.rehearse(compiled, server)
}

// describe notes what the one request is.
func (p *plan) describe(t *scenario.Target) {
	p.request.method, p.request.wire = t.Method(), t.Wire()
	if body := t.Stream(); body != nil {
		p.streamed = body.ContentSize()
		return
	}
	_, body, _ := strings.Cut(string(t.Wire()), "\r\n\r\n")
	p.request.body = len(body)
}

// rehearse chooses what is asked before the run: requests that are always the same,
// need no other's answer, and change nothing at the server. A single one is asked
// whatever it is, unless it is an upload.
func (p *plan) rehearse(compiled *scenario.Plan, server string) error {
	for _, t := range compiled.Targets() {
		p.names = append(p.names, t.Name())
		safe := t.Method() == http.MethodGet || t.Method() == http.MethodHead || p.scenario.Request != nil
		if t.Wire() == nil || t.Stream() != nil || t.Sequential() || !safe || len(p.asks) == maxAsks {
			continue
		}
		q, err := requestOf(t, server, t.Wire())
		if err != nil {
			return err
		}
		p.asks = append(p.asks, ask{q, t})
	}
	return nil
}

// serverOf is the one server of a plan.
func serverOf(compiled *scenario.Plan) string {
	o := compiled.Origins()[0]
	return o.Scheme + "://" + o.Addr
}

// requestOf is a target's request with the bytes that were made of it.
func requestOf(t *scenario.Target, server string, wire []byte) (request, error) {
	line, _, _ := bytes.Cut(wire, []byte("\r\n"))
	at, err := url.Parse(server + strings.Fields(string(line))[1])
	if err != nil {
		return request{}, fmt.Errorf("%s: %w", t.Name(), err)
	}
	return request{url: at, method: t.Method(), wire: wire}, nil
}

// known refuses objectives of targets that are not there.
func (p *plan) known(list []objective.Objective) error {
	for _, o := range list {
		switch {
		case o.Target == "" || slices.Contains(p.names, o.Target):
		case p.targets == "":
			return fmt.Errorf("a target is one of a scenario; leave {%s} out, or name its file with --targets", o.Target)
		default:
			return fmt.Errorf("%s has no target {%s}; it has %s", p.scenario.Name, o.Target, strings.Join(p.names[:min(len(p.names), 20)], ", "))
		}
	}
	return nil
}

// first meets the server: it sends what is to be sent before the run.
func (r *loader) first(ctx context.Context) (a firstAnswer, err error) {
	if r.scenario == nil {
		switch a, err = r.request.ask(ctx, r.timeout); {
		case err != nil:
		case r.listen != nil:
			r.status, err = a.status, a.listened(&r.request, r.listen.Format == spec.FormatEvents)
		default:
			r.status, err = a.expected(r.Flags.status, &r.request)
		}
		return a, err
	}
	if len(r.asks) == 0 {
		conn, a, err := r.request.reach(ctx, r.timeout)
		if err != nil {
			return a, err
		}
		return a, conn.Close()
	}
	for _, q := range r.asks {
		if a, err = q.ask(ctx, r.timeout); err != nil {
			return a, err
		}
		if err := r.accept(&q, &a); err != nil {
			return a, err
		}
	}
	if r.scenario.Request != nil && r.Flags.status == 0 && !slices.ContainsFunc(r.checks, isStatus) {
		r.status = a.status
		r.scenario.Check = append(slices.Clone(r.scenario.Check), fmt.Sprintf("status %d", a.status))
	}
	return a, nil
}

// accept holds an answer before the run against the checks.
func (r *loader) accept(q *ask, a *firstAnswer) error {
	failed := r.judge.Answer(q.target, a.status, a.head, a.body)
	switch {
	case failed == "" || r.keepGoing && r.scenario.Request == nil:
		return nil
	case r.scenario.Request == nil:
		return fmt.Errorf("%s: %s %s answers with status %d, and its check does not hold: %s; mend the request, write down what its answer is, or --keep-going", r.scenario.Name, q.method, q.url, a.status, failed)
	case slices.Contains(r.checks, failed):
		return fmt.Errorf("%s %s answers with status %d, and --check %q does not hold", q.method, q.url, a.status, failed)
	}
	_, err := a.expected(r.Flags.status, &q.request)
	return err
}
