package scenario

import (
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"strconv"
	"sync"

	"github.com/redline-go/redline/lab/load/scenario/dist"
)

// Plan is a compiled scenario. It is immutable and may be shared by any number of
// goroutines. Every virtual user has its own [User].
type Plan struct {
	targets []*Target
	origins []Origin
	setup   []*Target
	entries [][]*Target // single targets and flows, of all groups
	groups  []group     // of users
	deal    dealer      // of users to groups
	inTurn  bool
	flows   []string // names
	cookies bool     // each user has a jar
	slots   []slot
	files   []string
	open    []io.Closer
}

// Origin is a server that a plan sends requests to.
type Origin struct {
	Scheme string // http or https
	Addr   string // host:port, always with the port
}

// group holds the entries that a part of the users chooses from.
type group struct {
	entries [][]*Target // single targets and flows
	alias   []alias     // of the weights; nil: there is one entry, or they are used in turn
}

// Tag is a label of a target, by which results are grouped.
type Tag struct{ Name, Value string }

// alias is one column of Walker's alias method: a weighted choice in constant time.
type alias struct {
	keep  float64 // probability of staying
	other int32
}

// Target is one request of a plan: a single target, or a step.
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
	wire       []byte   // all bytes of a static target; only the head if the body is a stream
	head       template // of any other target, up to the field that frames the body
	tail       template // of a target with cookies, which are between the two: the rest, unless the body changes
	checks     []test
	captures   []grab
	think      dist.Dist
	sequential bool
	setup      bool
	tags       []Tag
	flow       int // number of the flow that it is a step of, from 1; 0: none
	last       bool
	cookies    bool
}

type fieldTemplate struct {
	name, lower string
	value       template
}

// Targets returns all requests: those of setup first, then in the order of the file. The
// slice belongs to the plan.
func (p *Plan) Targets() []*Target { return p.targets }

// Origins returns the servers that receive requests; [Target.Origin] is an index of it. The
// slice belongs to the plan.
func (p *Plan) Origins() []Origin { return p.origins }

// Flows returns the names of the flows in the order of the file; [Target.Flow] is an index of
// it. The slice belongs to the plan.
func (p *Plan) Flows() []string { return p.flows }

// Files returns the names of all files that the plan was made from, the scenario's own
// first. Another machine needs these to load it.
func (p *Plan) Files() []string { return p.files }

// Sequential reports whether some requests must wait for the response to the previous one:
// the plan has flows, setup, or cookies. Without that any number of requests may be in flight
// on a connection.
func (p *Plan) Sequential() bool {
	return p.cookies || slices.ContainsFunc(p.targets, func(t *Target) bool { return t.sequential })
}

// Constant returns the bytes of every request, if the plan has only one request and nothing
// in it changes. They belong to the plan.
func (p *Plan) Constant() (wire []byte, ok bool) {
	if len(p.targets) != 1 || p.targets[0].body.stream != nil {
		return nil, false
	}
	return p.targets[0].wire, p.targets[0].wire != nil
}

// Close closes the files of long bodies. No stream of the plan may be used afterwards.
func (p *Plan) Close() error {
	var errs []error
	for _, f := range p.open {
		errs = append(errs, f.Close())
	}
	p.open = nil
	return errors.Join(errs...)
}

// Name returns the name of the target in results: the name of its flow and a slash, if it
// is part of one, and its name in the file; method and URL if the file has no name for it.
func (t *Target) Name() string { return t.name }

// Index returns the target's index in [Plan.Targets].
func (t *Target) Index() int { return t.index }

// Method returns the request's method. The response to HEAD has no body.
func (t *Target) Method() string { return t.method }

// Origin returns the index of the target's server in [Plan.Origins].
func (t *Target) Origin() int { return t.origin }

// Setup reports whether the request is one that users send once before they begin; results
// usually exclude it.
func (t *Target) Setup() bool { return t.setup }

// Sequential reports whether the request is a step of a flow, or of setup.
func (t *Target) Sequential() bool { return t.sequential }

// Tags returns the target's tags, sorted by their names. The slice belongs to the plan.
func (t *Target) Tags() []Tag { return t.tags }

// Flow returns the index in [Plan.Flows] of the flow that the request is a step of, or -1.
func (t *Target) Flow() int { return t.flow - 1 }

// Last reports whether the request is the last step of a flow.
func (t *Target) Last() bool { return t.last }

// Wire returns the bytes of the request if they never change, else nil: head and body, or
// only the head if [Target.Stream] returns a body. They belong to the plan.
func (t *Target) Wire() []byte { return t.wire }

// Stream returns the body that follows the request's bytes, or nil if they contain it.
func (t *Target) Stream() *Stream { return t.body.stream }

// NeedsHead reports whether checks, captures or cookies use the header fields of responses. If not,
// [User.Answer] may be called without them.
func (t *Target) NeedsHead() bool { return t.cookies || t.needs(ofHeader) || t.needs(ofCookie) }

// NeedsBody reports whether checks or captures use the body of responses. If not, it need
// not be kept, and [User.Answer] may be called without it.
func (t *Target) NeedsBody() bool { return t.needs(ofBody) || t.needs(ofJSON) || t.needs(ofRegexp) }

func (t *Target) needs(s subject) bool {
	return slices.ContainsFunc(t.checks, func(k test) bool { return k.subject == s }) ||
		slices.ContainsFunc(t.captures, func(g grab) bool { return g.subject == s })
}

// Checks returns all names that [User.Answer] may return for this target.
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

// addFlow makes a flow of the steps.
func (p *Plan) addFlow(name string, steps []*Target) {
	p.flows = append(p.flows, name)
	for _, t := range steps {
		t.flow = len(p.flows)
	}
	steps[len(steps)-1].last = true
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

// add adds a group of users, who choose from entries by their weights.
func (p *Plan) add(entries [][]*Target, weights []float64) {
	g := group{entries: entries}
	if len(entries) > 1 && !p.inTurn {
		g.alias = newAlias(weights)
	}
	p.groups = append(p.groups, g)
	p.entries = append(p.entries, entries...)
}

// finish numbers the targets, and divides the users over the groups by weight.
func (p *Plan) finish(weights []float64) {
	p.targets = slices.Concat(append([][]*Target{p.setup}, p.entries...)...)
	for i, t := range p.targets {
		t.index = i
	}
	p.deal.share = slices.Clone(weights)
	var sum float64
	for _, w := range weights {
		sum += w / slices.Max(weights) // so that huge weights have a sum
	}
	for i, w := range weights {
		p.deal.share[i] = w / slices.Max(weights) / sum
	}
	p.deal.count = make([]float64, len(weights))
}

// dealer divides users over groups: at any time, each group has its share of the users
// dealt so far, to within one.
type dealer struct {
	share []float64 // of each group; their sum is 1
	mu    sync.Mutex
	dealt []uint16  // groups of the first users
	count []float64 // users of each group
}

// group returns the index of a user's group.
func (d *dealer) group(id int) int {
	if len(d.share) < 2 {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.dealt) <= id {
		n := float64(len(d.dealt) + 1)
		most := 0
		for i, share := range d.share {
			if share*n-d.count[i] > d.share[most]*n-d.count[most]+1e-9 {
				most = i
			}
		}
		d.count[most]++
		d.dealt = append(d.dealt, uint16(most))
	}
	return int(d.dealt[id])
}

// newAlias builds the table with Vose's algorithm (1991).
func newAlias(weights []float64) []alias {
	// Divide by the largest first, so that the sum of huge weights is finite.
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
	return table // the remaining ones are 1 except for rounding, and their own alias
}

// assemble compiles the request in the format of HTTP/1.1, RFC 9112, section 3.
func (t *Target) assemble() {
	head := template(nil).text(t.method + " ").join(t.path).text(" HTTP/1.1\r\nHost: " + t.host + "\r\n")
	for _, f := range t.fields {
		head = head.text(f.name + ": ").join(f.value).text("\r\n")
	}
	if t.cookies {
		t.head, head = head, nil
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
	if t.cookies {
		t.tail = head
		return
	}
	if wire, ok := head.constant(); ok && static {
		t.wire = slices.Clip(wire)
		return
	}
	t.head = head
}

// expectsBody reports whether requests with the method usually have a body, so that an
// empty one must be announced: RFC 9110, section 8.6.
func (t *Target) expectsBody() bool {
	return t.method == "POST" || t.method == "PUT" || t.method == "PATCH"
}

// dynamic reports whether the body changes from request to request.
func (t *Target) dynamic() bool {
	_, static := t.body.content.constant()
	return !static
}
