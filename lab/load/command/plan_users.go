package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/load/scenario/dist"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/wire"
)

// userPlan holds the resolved values of userFlags.
type userPlan struct {
	scenario *spec.Scenario // nil: request is sent repeatedly
	asks     []ask          // of the scenario, sent before the run
	checker  *scenario.User // checks their answers
	names    []string       // of its targets
	flows    []string       // their names
	tags     []string       // as name=value
	streamed int64          // bytes of a body that is not part of the request's wire
	slow     spec.Slow
	dials    float64 // a second; 0: no limit
	maxBody  int64
}

// ask is a request that is sent once before the run.
type ask struct {
	request request
	target  *scenario.Target
}

// maxAsks is the maximum number of requests before a run: a file may have thousands.
const maxAsks = 20

// largeBody is the size from which a file is streamed instead of kept in memory.
const largeBody = 64 << 10

// draws reports whether users use random numbers.
func (l *Flags) draws() bool { return l.users.targets != "" || l.users.think != "" }

// planUsers converts the flags to the generator's parameters.
func (p *plan) planUsers(rawURL string, changed func(string) bool) error {
	l := &p.flags.users
	if err := p.checkUsers(rawURL, changed); err != nil {
		return err
	}
	if err := p.planPace(); err != nil {
		return err
	}
	for _, h := range p.flags.headers {
		if _, _, err := headerField(h); err != nil {
			return err
		}
	}
	for _, k := range l.checks {
		if err := scenario.ParseCheck(k); err != nil {
			return fmt.Errorf("--%w", err)
		}
	}
	if l.think != "" {
		if _, err := dist.Parse(l.think); err != nil {
			return fmt.Errorf("--think: %w", err)
		}
	}
	switch plain, err := p.isPlain(); {
	case err != nil:
		return err
	case l.targets != "":
		return p.scenarioOfFile(rawURL)
	case plain && !l.try:
		p.request, err = newRequest(rawURL, &p.flags)
		return err
	}
	return p.scenarioOfFlags(rawURL)
}

// checkUsers rejects combinations of flags that make no sense.
func (p *plan) checkUsers(rawURL string, changed func(string) bool) error {
	l := &p.flags.users
	if l.targets != "" {
		for _, flag := range []string{"method", "body", "body-file", "upload", "chunked", "status"} {
			if changed(flag) {
				return fmt.Errorf("--%s with --targets: the file describes each request and its answer; write it there", flag)
			}
		}
	} else if rawURL == "" {
		return errors.New("name one URL, such as redline load http://127.0.0.1:8080/; there are 0 arguments")
	}
	for _, flag := range []string{"requests", "rate", "stages", "ramp", "find", "threshold", "percentiles", "json", "csv", "hdr", "html"} {
		if l.try && changed(flag) {
			return fmt.Errorf("--%s with --try: --try measures nothing; leave out one of the two", flag)
		}
	}
	body := p.flags.body != "" || p.flags.bodyFile != ""
	status := slices.IndexFunc(l.checks, isStatus)
	switch {
	case l.upload != "" && body:
		return errors.New("--upload and --body or --body-file: leave out one of them")
	case l.chunked && !body && l.upload == "":
		return errors.New("--chunked without a body: give one with --body, --body-file or --upload")
	case p.flags.status != 0 && status >= 0:
		return fmt.Errorf("--status %d and --check %q: leave out one of the two", p.flags.status, l.checks[status])
	case l.perConnection < 0:
		return fmt.Errorf("--requests-per-connection %d: want at least 1, or 0 for connections that are not replaced", l.perConnection)
	case l.slowConnections != 0 && l.slowRead == "" && l.slowWrite == "":
		return errors.New("--slow-connections: add --slow-read or --slow-write")
	case l.slowConnections < 0 || l.slowConnections > p.flags.connections:
		return fmt.Errorf("--slow-connections %d: want 1 to %d, the --connections", l.slowConnections, p.flags.connections)
	}
	return nil
}

// isStatus reports whether a check is about the status.
func isStatus(check string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(check), " ")
	return first == "status"
}

// planPace reads the rate of connects, and the speed of slow connections.
func (p *plan) planPace() (err error) {
	l := &p.flags.users
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
	p.users.slow = spec.Slow{Connections: l.slowConnections, Read: size("slow-read", l.slowRead), Write: size("slow-write", l.slowWrite)}
	p.users.maxBody = size("max-body", l.maxBody)
	if err != nil {
		return err
	}
	if l.connectRate != "" {
		if p.users.dials, err = arrive.ParseRate(l.connectRate); err != nil {
			return fmt.Errorf("--connect-rate %s: %w", l.connectRate, err)
		}
		if p.users.dials == 0 {
			return errors.New("--connect-rate 0: write a number a second, or leave it out")
		}
	}
	if _, err = wire.ParseSources(l.sources); err != nil {
		return fmt.Errorf("--sources: %w", err)
	}
	return nil
}

// checkUnix rejects anything that is not a Unix socket, and flags that do not apply to one.
func (p *plan) checkUnix(changed func(string) bool) error {
	if !changed("unix") {
		return nil
	}
	if err := wire.CheckPath(p.flags.users.unix); err != nil {
		return fmt.Errorf("--unix: %w", err)
	}
	switch {
	case len(p.flags.users.sources) > 0:
		return errors.New("--sources are addresses, and a Unix socket has none: leave out --sources or --unix")
	case p.flags.fleet.bus != "" || p.flags.kube.kubernetes:
		return errors.New("--unix is a socket of this machine: leave it out of a run with --bus or --kubernetes; --workers starts several generators here")
	}
	return nil
}

// isPlain reports whether the loop needs no scenario: there is one request, and only the
// status of its answers is checked.
func (p *plan) isPlain() (bool, error) {
	l := &p.flags.users
	if p.flags.bodyFile != "" {
		info, err := os.Stat(p.flags.bodyFile)
		if err != nil {
			return false, readable("body-file", p.flags.bodyFile, err)
		}
		if info.Size() > largeBody {
			return false, nil
		}
	}
	return l.upload == "" && !l.chunked && len(l.checks) == 0 && l.think == "", nil
}

// scenarioOfFlags makes a scenario of the one request of the flags.
func (p *plan) scenarioOfFlags(rawURL string) error {
	l := &p.flags.users
	u, err := parseURL(rawURL)
	if err != nil {
		return err
	}
	size := int64(0)
	if l.upload != "" {
		if size, err = scenario.ParseSize(l.upload); err != nil || size == 0 {
			return fmt.Errorf("--upload %s: write bytes as 4096, 64KiB or 100MB", l.upload)
		}
	}
	u.Fragment = "" // it is never sent
	s := &spec.Scenario{
		Request: &scenario.Request{Method: p.flags.method, URL: u.String(), Header: p.flags.headers, Body: p.flags.body, File: p.flags.bodyFile, Size: size, Chunked: l.chunked},
		Think:   l.think, Check: l.checks,
	}
	if !slices.ContainsFunc(p.flags.headers, func(h string) bool { name, _, _ := strings.Cut(h, ":"); return strings.EqualFold(name, "user-agent") }) {
		s.Request.Header = append([]string{"User-Agent: redline"}, p.flags.headers...)
	}
	if p.flags.status != 0 {
		s.Check = append(slices.Clone(s.Check), fmt.Sprintf("status %d", p.flags.status))
	}
	return p.planScenario(s, u)
}

// scenarioOfFile loads a scenario file.
func (p *plan) scenarioOfFile(rawURL string) error {
	l := &p.flags.users
	s := &spec.Scenario{Name: l.targets, Think: l.think, Set: p.flags.headers, Check: l.checks}
	var u *url.URL
	var err error
	if rawURL != "" {
		if u, err = parseURL(rawURL); err != nil {
			return err
		}
		if u.RawQuery != "" || u.Fragment != "" {
			return fmt.Errorf("%q: with --targets the URL is the base of the file's paths, without query and fragment; write %s://%s", rawURL, u.Scheme, u.Host)
		}
		s.Base = u.String()
	}
	if l.targets == "-" {
		s.Name = "standard input"
		s.Text, err = io.ReadAll(os.Stdin)
	} else {
		s.Text, err = os.ReadFile(l.targets)
	}
	if err != nil {
		return readable("targets", l.targets, err)
	}
	return p.planScenario(s, u)
}

// readable returns an error that explains why a flag's file cannot be read.
func readable(flag, name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--%s %s: there is no such file", flag, name)
	}
	return fmt.Errorf("--%s: %w", flag, err)
}

// planScenario checks whether a generator can run a scenario. Without a URL, the scenario names
// the server.
func (p *plan) planScenario(s *spec.Scenario, u *url.URL) (err error) {
	compiled, err := s.Plan()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, compiled.Close()) }()
	origins := compiled.Origins()
	if len(origins) > 1 {
		return fmt.Errorf("%s: requests to %s and %s: write a file for each server, and run them in parallel", s.Name, origins[0].Addr, origins[1].Addr)
	}
	if compiled.Sequential() && p.flags.pipeline > 1 {
		return fmt.Errorf("--pipeline %d: flows, setup and cookies of %s wait for each answer; leave --pipeline out", p.flags.pipeline, s.Name)
	}
	server := serverOf(compiled)
	at, err := parseURL(server)
	switch {
	case err != nil:
		return err
	case u == nil:
		u = at
	case u.Scheme != at.Scheme || u.Hostname() != at.Hostname() || portOf(u) != portOf(at):
		return fmt.Errorf("%s: all of its URLs are absolute, at %s; leave %s out", s.Name, server, u)
	}
	p.users.scenario, p.request.url, p.users.checker = s, u, compiled.User(p.seed, 0, 1)
	if s.Request != nil {
		p.describeOnly(compiled.Targets()[0])
	}
	return p.planAsks(compiled, server)
}

// describeOnly records the only request.
func (p *plan) describeOnly(t *scenario.Target) {
	p.request.method, p.request.wire = t.Method(), t.Wire()
	if body := t.Stream(); body != nil {
		p.users.streamed = body.ContentSize()
		return
	}
	_, body, _ := strings.Cut(string(t.Wire()), "\r\n\r\n")
	p.request.body = len(body)
}

// planAsks chooses the requests to send before the run: those that are always the same, do not
// depend on another answer, and change nothing at the server. A single request is always sent,
// unless it is an upload.
func (p *plan) planAsks(compiled *scenario.Plan, server string) error {
	p.users.flows = compiled.Flows()
	for _, t := range compiled.Targets() {
		p.users.names = append(p.users.names, t.Name())
		p.noteTags(t)
		safe := t.Method() == http.MethodGet || t.Method() == http.MethodHead || p.users.scenario.Request != nil
		if t.Wire() == nil || t.Stream() != nil || t.Sequential() || !safe || len(p.users.asks) == maxAsks {
			continue
		}
		q, err := requestOf(t, server, t.Wire())
		if err != nil {
			return err
		}
		p.users.asks = append(p.users.asks, ask{q, t})
	}
	return nil
}

// noteTags records the tags of a target by which results are grouped.
func (p *plan) noteTags(t *scenario.Target) {
	for _, tag := range t.Tags() {
		if text := tag.Name + "=" + tag.Value; !t.Setup() && !slices.Contains(p.users.tags, text) {
			p.users.tags = append(p.users.tags, text)
		}
	}
}

// serverOf returns the only server of a plan.
func serverOf(compiled *scenario.Plan) string {
	o := compiled.Origins()[0]
	return o.Scheme + "://" + o.Addr
}

// requestOf returns a target's request with its bytes.
func requestOf(t *scenario.Target, server string, wire []byte) (request, error) {
	line, _, _ := bytes.Cut(wire, []byte("\r\n"))
	at, err := url.Parse(server + strings.Fields(string(line))[1])
	if err != nil {
		return request{}, fmt.Errorf("%s: %w", t.Name(), err)
	}
	return request{url: at, method: t.Method(), wire: wire}, nil
}
