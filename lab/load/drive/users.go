package drive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/redline-go/redline/lab/load"
	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/load/scenario/dist"
	"github.com/redline-go/redline/lab/load/sock"
)

// userFlags say what users ask for, and how they behave.
type userFlags struct {
	targets, think      string
	checks              []string
	upload              string
	chunked             bool
	perConnection       int
	connectRate         string
	sources             []string
	slowRead, slowWrite string
	slowConnections     int
	maxBody             string
	keepGoing           bool
}

func (l *Flags) bindUsers(f *pflag.FlagSet) {
	f.StringVar(&l.upload, "upload", "", "`SIZE` of a body that is made up as it is sent, as 100MiB")
	f.BoolVar(&l.chunked, "chunked", false, "send the body in chunks, without a Content-Length")
	f.StringArrayVar(&l.checks, "check", nil, "`CHECK` of every answer, as 'json $.ok equals true'; may be repeated")
	f.StringVar(&l.targets, "targets", "", "`FILE` of a scenario: a mix of requests, flows, variables, checks; the URL is its base")
	f.StringVar(&l.think, "think", "", "`TIME` between an answer and the next request: 1s, uniform:1s,3s, exponential:2s, lognormal:120ms,0.8, file:NAME")
	f.IntVar(&l.perConnection, "requests-per-connection", 0, "answers after which a connection is replaced by a fresh one (0: never)")
	f.StringVar(&l.connectRate, "connect-rate", "", "`RATE` at which connections are made, at most, written as --rate")
	f.StringSliceVar(&l.sources, "sources", nil, "`ADDRESSES` to connect from: 127.0.0.2, 127.0.0.2-127.0.0.9, 127.0.1.0/24")
	f.StringVar(&l.slowRead, "slow-read", "", "`BYTES` a second that a client takes of its answers, as 10KiB")
	f.StringVar(&l.slowWrite, "slow-write", "", "`BYTES` a second that a client sends of its requests")
	f.IntVar(&l.slowConnections, "slow-connections", 0, "connections that are that slow (0: all)")
	f.StringVar(&l.maxBody, "max-body", "1GiB", "`SIZE` from which on a body of unknown length is an error")
	f.BoolVar(&l.keepGoing, "keep-going", false, "go on though the server refuses connections, or answers nothing right, for long")
}

// draws reports whether users do things at random.
func (l *Flags) draws() bool { return l.targets != "" || l.think != "" }

// users is what userFlags come to.
type users struct {
	scenario *load.Scenario // nil: request is sent again and again
	asks     []ask          // of the scenario, before the run
	judge    *scenario.User // of their answers
	streamed int64          // bytes of a body that is no part of the request's wire
	slow     load.Slow
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

// resolveUsers turns the flags into what the generator is told.
func (p *plan) resolveUsers(rawURL string, changed func(string) bool) error {
	if err := p.checkUsers(rawURL, changed); err != nil {
		return err
	}
	if err := p.resolvePace(); err != nil {
		return err
	}
	for _, h := range p.headers {
		if _, _, err := headerField(h); err != nil {
			return err
		}
	}
	for _, k := range p.checks {
		if err := scenario.ParseCheck(k); err != nil {
			return fmt.Errorf("--%w", err)
		}
	}
	if p.think != "" {
		if _, err := dist.Parse(p.think); err != nil {
			return fmt.Errorf("--think: %w", err)
		}
	}
	switch plain, err := p.plain(); {
	case err != nil:
		return err
	case p.targets != "":
		return p.mix(rawURL)
	case plain:
		p.request, err = newRequest(rawURL, &p.Flags)
		return err
	}
	return p.single(rawURL)
}

// checkUsers refuses flags that say nothing together.
func (p *plan) checkUsers(rawURL string, changed func(string) bool) error {
	if p.targets != "" {
		for _, flag := range []string{"method", "body", "body-file", "upload", "chunked", "status"} {
			if changed(flag) {
				return fmt.Errorf("--%s beside --targets: the file says what each request is, and what its answer has to be; write it there", flag)
			}
		}
	} else if rawURL == "" {
		return errors.New("name one URL, as redline load http://127.0.0.1:8080/; there are 0 arguments")
	}
	body := p.body != "" || p.bodyFile != ""
	status := slices.IndexFunc(p.checks, isStatus)
	switch {
	case p.upload != "" && body:
		return errors.New("--upload beside --body or --body-file: one of them")
	case p.chunked && !body && p.upload == "":
		return errors.New("--chunked without a body: give one with --body, --body-file or --upload")
	case p.status != 0 && status >= 0:
		return fmt.Errorf("--status %d and --check %q: one of the two", p.status, p.checks[status])
	case p.perConnection < 0:
		return fmt.Errorf("--requests-per-connection %d: want at least 1, or 0 for connections that stay", p.perConnection)
	case p.slowConnections != 0 && p.slowRead == "" && p.slowWrite == "":
		return errors.New("--slow-connections: say how slow they are with --slow-read or --slow-write")
	case p.slowConnections < 0 || p.slowConnections > p.connections:
		return fmt.Errorf("--slow-connections %d: want 1 to %d, the --connections", p.slowConnections, p.connections)
	}
	return nil
}

// isStatus reports whether a check is one of the status.
func isStatus(check string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(check), " ")
	return first == "status"
}

// resolvePace reads how fast connections are made, and how slow they are.
func (p *plan) resolvePace() (err error) {
	size := func(flag, value string) (n int64) {
		if value == "" || err != nil {
			return 0
		}
		n, e := scenario.ParseSize(strings.TrimSuffix(value, "/s"))
		if e != nil || n == 0 {
			err = fmt.Errorf("--%s %s: write bytes as 4096, 64KiB or 1MB", flag, value)
		}
		return n
	}
	p.slow = load.Slow{Connections: p.slowConnections, Read: size("slow-read", p.slowRead), Write: size("slow-write", p.slowWrite)}
	p.users.maxBody = size("max-body", p.Flags.maxBody)
	if err != nil {
		return err
	}
	if p.connectRate != "" {
		if p.dials, err = arrive.ParseRate(p.connectRate); err != nil {
			return fmt.Errorf("--connect-rate %s: %w", p.connectRate, err)
		}
		if p.dials == 0 {
			return errors.New("--connect-rate 0: write how many a second, or leave it out")
		}
	}
	if _, err = sock.ParseSources(p.sources); err != nil {
		return fmt.Errorf("--sources: %w", err)
	}
	return nil
}

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
	s := &load.Scenario{
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
	s := &load.Scenario{Name: p.targets, Think: p.think, Set: p.headers, Check: p.checks}
	var u *url.URL
	var err error
	if rawURL != "" {
		if u, err = parseURL(rawURL); err != nil {
			return err
		}
		if u.RawQuery != "" || u.Fragment != "" {
			return fmt.Errorf("%q: with --targets the URL is what the file's paths are put under, and ends with its path; write http://%s", rawURL, u.Host)
		}
		s.Base = u.String()
	}
	if s.Text, err = os.ReadFile(p.targets); err != nil {
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
func (p *plan) compile(s *load.Scenario, u *url.URL) (err error) {
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
	server := origins[0].Scheme + "://" + origins[0].Addr
	if u == nil {
		if u, err = parseURL(server); err != nil {
			return err
		}
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
		safe := t.Method() == http.MethodGet || t.Method() == http.MethodHead || p.scenario.Request != nil
		if t.Wire() == nil || t.Stream() != nil || t.Sequential() || !safe || len(p.asks) == maxAsks {
			continue
		}
		at, err := url.Parse(server + strings.Fields(string(t.Wire()))[1])
		if err != nil {
			return fmt.Errorf("%s: %w", t.Name(), err)
		}
		p.asks = append(p.asks, ask{request{url: at, method: t.Method(), wire: t.Wire()}, t})
	}
	return nil
}

// first meets the server: it sends what is to be sent before the run.
func (r *loader) first(ctx context.Context) (a firstAnswer, err error) {
	if r.scenario == nil {
		if a, err = r.request.ask(ctx, r.timeout); err == nil {
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
	case failed == "":
		return nil
	case r.scenario.Request == nil:
		return fmt.Errorf("%s: %s %s answers with status %d, and its check does not hold: %s; mend the request, or write down what its answer is", r.scenario.Name, q.method, q.url, a.status, failed)
	case slices.Contains(r.checks, failed):
		return fmt.Errorf("%s %s answers with status %d, and --check %q does not hold", q.method, q.url, a.status, failed)
	}
	_, err := a.expected(r.Flags.status, &q.request)
	return err
}

// hand puts into the generator's orders what users do.
func (r *loader) hand(s *load.Spec) {
	s.PerConnection, s.ConnectRate, s.Sources, s.Slow = r.perConnection, r.dials, r.sources, r.slow
	s.MaxBody, s.Persist = r.users.maxBody, r.keepGoing
	if r.scenario != nil {
		play := *r.scenario
		play.Seed = r.seed
		s.Scenario, s.Request, s.Expect = &play, nil, load.Expect{}
	}
}

// describeUsers puts the same into the document.
func (r *loader) describeUsers(c *present.Config) {
	c.Scenario, c.Think, c.Checks = r.targets, r.think, r.checks
	c.PerConnection, c.ConnectRate, c.Sources = r.perConnection, r.dials, r.sources
	if r.slow.Read > 0 || r.slow.Write > 0 {
		slow := r.slow
		slow.Connections = cmp.Or(slow.Connections, r.connections)
		c.Slow = &slow
	}
	if r.streamed > 0 {
		c.Body = int(r.streamed)
	}
	if r.scenario != nil && r.scenario.Request == nil {
		c.Method = ""
	}
}
