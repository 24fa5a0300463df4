package scenario

import (
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"strconv"

	"github.com/redline-go/redline/lab/load/scenario/dist"
)

// Plan is a compiled scenario. It is immutable and may be shared by any number of
// goroutines; every virtual user has its own [User].
type Plan struct {
	targets []*Target
	origins []Origin
	setup   []*Target
	entries [][]*Target // what is chosen from: a target of its own, or a flow
	alias   []alias     // of the weights; nil: there is one entry, or they come in turn
	inTurn  bool
	slots   []slot
	files   []string
	open    []io.Closer
}

// Origin is a server that a plan sends requests to.
type Origin struct {
	Scheme string // http or https
	Addr   string // host:port, the port always there
}

// alias is one column of Walker's method: a choice by weight in constant time.
type alias struct {
	keep  float64 // chance of staying
	other int32
}

// Target is one request of a plan: a target of its own, or a step.
type Target struct {
	name       string
	index      int
	method     string
	scheme     string
	host       string
	origin     int
	path       template
	fields     []fieldTemplate
	body       payload
	wire       []byte   // all bytes of a static target; the head alone if the body is a stream
	head       template // of any other, up to the field that frames the body
	checks     []test
	captures   []grab
	think      dist.Dist
	sequential bool
	setup      bool
}

type fieldTemplate struct {
	name, lower string
	value       template
}

// Targets returns all requests: setup's first, then in the order of the file. The
// slice belongs to the plan.
func (p *Plan) Targets() []*Target { return p.targets }

// Origins returns the servers that requests go to; [Target.Origin] is an index of
// it. The slice belongs to the plan.
func (p *Plan) Origins() []Origin { return p.origins }

// Files returns the names of all files that the plan was made of, the scenario's
// own first: what another machine needs to load it too.
func (p *Plan) Files() []string { return p.files }

// Sequential reports whether some requests have to wait for the answer to the one
// before: the plan has flows or setup. Of a plan that is not sequential any number
// of requests may be in flight on a connection.
func (p *Plan) Sequential() bool {
	return slices.ContainsFunc(p.targets, func(t *Target) bool { return t.sequential })
}

// Constant returns the bytes of every request, if there is but one request and
// nothing in it changes. It belongs to the plan.
func (p *Plan) Constant() (wire []byte, ok bool) {
	if len(p.targets) != 1 || p.targets[0].body.stream != nil {
		return nil, false
	}
	return p.targets[0].wire, p.targets[0].wire != nil
}

// Close closes the files that long bodies are read from. No stream of the plan may
// be used afterwards.
func (p *Plan) Close() error {
	var errs []error
	for _, f := range p.open {
		errs = append(errs, f.Close())
	}
	p.open = nil
	return errors.Join(errs...)
}

// Name returns what results call the target: its name in the file, behind that of
// its flow and a slash; method and URL if the file has no name.
func (t *Target) Name() string { return t.name }

// Index returns the target's place in [Plan.Targets].
func (t *Target) Index() int { return t.index }

// Method returns the request's method. The answer to HEAD has no body.
func (t *Target) Method() string { return t.method }

// Origin returns the index of the target's server in [Plan.Origins].
func (t *Target) Origin() int { return t.origin }

// Setup reports whether the request is part of what users do once before they
// begin; results usually leave it out.
func (t *Target) Setup() bool { return t.setup }

// Sequential reports whether the request is a step of a flow, or of setup.
func (t *Target) Sequential() bool { return t.sequential }

// Wire returns the bytes of the request if they never change, else nil: head and
// body, without the body if [Target.Stream] returns one. It belongs to the plan.
func (t *Target) Wire() []byte { return t.wire }

// Stream returns the body that follows the request's bytes, or nil if they hold
// it.
func (t *Target) Stream() *Stream { return t.body.stream }

// NeedsHead reports whether checks or captures look at the header fields of
// answers. If not, [User.Answer] may be called without.
func (t *Target) NeedsHead() bool { return t.needs(ofHeader) || t.needs(ofCookie) }

// NeedsBody reports whether checks or captures look at the body of answers. If
// not, it need not be kept, and [User.Answer] may be called without.
func (t *Target) NeedsBody() bool { return t.needs(ofBody) || t.needs(ofJSON) || t.needs(ofRegexp) }

func (t *Target) needs(s subject) bool {
	return slices.ContainsFunc(t.checks, func(k test) bool { return k.subject == s }) ||
		slices.ContainsFunc(t.captures, func(g grab) bool { return g.subject == s })
}

// Checks returns the names of everything that [User.Answer] may return for this
// target.
func (t *Target) Checks() []string {
	var names []string
	for i := range t.checks {
		names = append(names, t.checks[i].name)
	}
	for i := range t.captures {
		names = append(names, t.captures[i].name)
	}
	return names
}

// origin returns the index of a server.
func (p *Plan) origin(at *place) int {
	u := url.URL{Host: at.host}
	port := u.Port()
	if port == "" {
		port = "80"
		if at.scheme == "https" {
			port = "443"
		}
	}
	o := Origin{at.scheme, net.JoinHostPort(u.Hostname(), port)}
	if i := slices.Index(p.origins, o); i >= 0 {
		return i
	}
	p.origins = append(p.origins, o)
	return len(p.origins) - 1
}

// finish numbers the targets and prepares the choice.
func (p *Plan) finish(entries [][]*Target, weights []float64) {
	p.entries = entries
	p.targets = slices.Concat(append([][]*Target{p.setup}, entries...)...)
	for i, t := range p.targets {
		t.index = i
	}
	if len(entries) > 1 && !p.inTurn {
		p.alias = newAlias(weights)
	}
}

// newAlias builds the table after Vose (1991).
func newAlias(weights []float64) []alias {
	// Divided by the largest first, so that the sum of huge weights is finite.
	most := slices.Max(weights)
	var sum float64
	for _, w := range weights {
		sum += w / most
	}
	table := make([]alias, len(weights))
	var small, large []int32
	for i, w := range weights {
		table[i] = alias{w / most * float64(len(weights)) / sum, int32(i)}
		if table[i].keep < 1 {
			small = append(small, int32(i))
		} else {
			large = append(large, int32(i))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		table[s].other = l
		table[l].keep -= 1 - table[s].keep
		if table[l].keep < 1 {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	return table // what is left over is 1 but for rounding, and its own alias
}

// assemble compiles the request as HTTP/1.1 writes it, RFC 9112, section 3.
func (t *Target) assemble() {
	head := template(nil).text(t.method + " ").join(t.path).text(" HTTP/1.1\r\nHost: " + t.host + "\r\n")
	for _, f := range t.fields {
		head = head.text(f.name + ": ").join(f.value).text("\r\n")
	}
	content, static := t.body.content.constant()
	length := int64(len(content))
	if t.body.stream != nil {
		length = t.body.stream.ContentSize()
	}
	if static {
		switch {
		case t.body.given && t.body.chunk > 0:
			head = head.text("Transfer-Encoding: chunked\r\n")
		case t.body.given || t.expectsBody():
			head = head.text("Content-Length: " + strconv.FormatInt(length, 10) + "\r\n")
		}
		head = head.text("\r\n")
		switch {
		case t.body.stream != nil || !t.body.given:
		case t.body.chunk > 0:
			head = head.text(string(appendChunked(nil, content, t.body.chunk)))
		default:
			head = head.text(string(content))
		}
	}
	if wire, ok := head.constant(); ok && static {
		t.wire = slices.Clip(wire)
		return
	}
	t.head = head
}

// expectsBody reports whether the method has a body as a rule, so that an empty
// one is announced: RFC 9110, section 8.6.
func (t *Target) expectsBody() bool {
	return t.method == "POST" || t.method == "PUT" || t.method == "PATCH"
}

// dynamic reports whether the body changes from request to request.
func (t *Target) dynamic() bool {
	_, static := t.body.content.constant()
	return !static
}
