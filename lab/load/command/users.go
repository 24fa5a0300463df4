package command

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/load/scenario/dist"
	"github.com/redline-go/redline/lab/load/sock"
	"github.com/redline-go/redline/lab/load/spec"
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
	keepGoing, try      bool
}

func (l *Flags) bindUsers(f *pflag.FlagSet) {
	f.StringVar(&l.upload, "upload", "", "`SIZE` of a body that is made up as it is sent, as 100MiB")
	f.BoolVar(&l.chunked, "chunked", false, "send the body in chunks, without a Content-Length")
	f.StringArrayVar(&l.checks, "check", nil, "`CHECK` of every answer, as 'json $.ok equals true'; may be repeated")
	f.StringVar(&l.targets, "targets", "", "`FILE` of a scenario: a mix of requests, flows, variables, checks; the URL is its base. - is standard input")
	f.BoolVar(&l.try, "try", false, "send each request once, show it with its answer and checks, and measure nothing")
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
	case plain && !p.try:
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
	for _, flag := range []string{"rate", "stages", "find", "threshold", "json", "csv", "hdr", "html"} {
		if p.try && changed(flag) {
			return fmt.Errorf("--%s beside --try: that measures nothing; leave one of them out", flag)
		}
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
	p.slow = spec.Slow{Connections: p.slowConnections, Read: size("slow-read", p.slowRead), Write: size("slow-write", p.slowWrite)}
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

// enough refuses arrivals for which there cannot be users: one who thinks is not
// free. With a scenario it depends on what its requests say themselves.
func (p *plan) enough() error {
	if p.think == "" || p.targets != "" || p.arrivals == nil {
		return nil
	}
	think, err := dist.Parse(p.think)
	if err != nil {
		return fmt.Errorf("--think: %w", err)
	}
	most, rate := float64(p.inFlight())/think.Mean().Seconds(), p.arrivals.Rate
	if most < rate {
		return fmt.Errorf("--think %s: %d users ask at most %s then, and %s are asked for; write --connections %d or more",
			p.think, p.inFlight(), perSecond(most), perSecond(rate), int(math.Ceil(rate*think.Mean().Seconds()*1.1*float64(p.connections)/float64(p.inFlight()))))
	}
	return nil
}

// hand puts into the generator's orders what users do.
func (r *loader) hand(s *spec.Spec) {
	s.PerConnection, s.ConnectRate, s.Sources, s.Slow = r.perConnection, r.dials, r.sources, r.slow
	s.MaxBody, s.Persist = r.users.maxBody, r.keepGoing
	if r.scenario != nil {
		play := *r.scenario
		play.Seed = r.seed
		s.Scenario, s.Request, s.Expect = &play, nil, spec.Expect{}
	}
}

// describeUsers puts the same into the document.
func (r *loader) describeUsers(c *present.Config) {
	c.Think, c.Checks = r.think, r.checks
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
		c.Scenario, c.Method = r.scenario.Name, ""
	}
}
