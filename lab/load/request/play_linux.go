package request

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/load/h2"
	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
)

const (
	// keptBody bounds what is kept of an answer's body for checks and captures.
	keptBody = 256 << 10

	// manyTargets is from where on a target's latencies have one digit: a histogram
	// of two takes 36 KiB, and an access log makes a scenario of many thousands.
	manyTargets = 500

	// keptIdle is how many buffers are kept for answers to come.
	keptIdle = 64
)

// checkError is an answer that a check did not accept.
type checkError struct{ target, check string }

func (e *checkError) Error() string { return fmt.Sprintf("%s: %s does not hold", e.target, e.check) }

// play is a scenario in a loop: what the users ask next, and what came of it.
type play struct {
	plan     *scenario.Plan
	constant []byte // all requests are these bytes; nil: they differ
	counts   []targetCount
	flows    []flowCount
	free     []*kept
	requests []*h2.Request // of HTTP/2, by target; nil: it differs each time
}

// targetCount counts one target. What is on the way of every answer is an array
// element away.
type targetCount struct {
	requests, errors uint64
	failed           map[string]uint64
	hist             *hdrhistogram.Histogram
}

// turn is what a connection has beside its batch when it plays a scenario. A user
// lives as long as its place: over all sockets that the place has one after the
// other.
type turn struct {
	user    *scenario.User
	next    *scenario.Target   // drawn, and not written yet
	targets []*scenario.Target // of the batch
	ends    []int              // of their requests in the batch, streamed bodies not counted
	buf     []byte             // of batches that are written for one time
	kept    *kept              // of the answer that is arriving

	within bool  // an iteration of a flow, of which an answer came
	began  int64 // the time when it did
	waited int64 // for its answers so far, all together
}

// kept holds what checks and captures look at.
type kept struct {
	head, body []byte
	noBody     bool
}

// Head and Content make it an h1.Sink.
func (k *kept) Head(_ int, head []byte) { k.head = append(k.head[:0], head...) }

func (k *kept) Content(b []byte) {
	if !k.noBody {
		k.body = append(k.body, b[:min(len(b), keptBody-len(k.body))]...)
	}
}

func newPlay(order *spec.Spec) (*play, error) {
	plan, err := order.Scenario.Plan()
	if err != nil {
		return nil, err
	}
	p := &play{plan: plan}
	if err := p.accept(order); err != nil {
		return nil, errors.Join(err, plan.Close())
	}
	if wire, ok := plan.Constant(); ok && !plan.Sequential() {
		p.constant = bytes.Repeat(wire, order.Pipeline)
	}
	p.counts, p.flows = newCounts(len(plan.Targets())), newFlows(plan)
	return p, nil
}

// newCounts returns empty counts of so many targets.
func newCounts(targets int) (counts []targetCount) {
	digits := 2
	if targets > manyTargets {
		digits = 1
	}
	for range targets {
		counts = append(counts, targetCount{failed: map[string]uint64{}, hist: hdrhistogram.New(1, tally.MaxLatency, digits)})
	}
	return counts
}

// accept says what of a plan a loop cannot do.
func (p *play) accept(order *spec.Spec) error {
	origins := p.plan.Origins()
	switch {
	case len(origins) != 1:
		return fmt.Errorf("scenario: requests to %d servers: write one for each, and run them beside each other", len(origins))
	case origins[0].Scheme != order.Scheme():
		return fmt.Errorf("scenario: requests by %s, connections for %s", origins[0].Scheme, order.Scheme())
	case p.plan.Sequential() && order.Pipeline > 1:
		return fmt.Errorf("scenario: flows and setup wait for answers, so that a pipeline of %d has no meaning", order.Pipeline)
	}
	s := order.Scenario
	if users, places := max(s.Users, order.Places()), order.Places(); s.First < 0 || s.First+places > users {
		return fmt.Errorf("scenario: users %d to %d of %d", s.First, s.First+places-1, users)
	}
	return nil
}

// close gives up the files of the plan. They were only read.
func (p *play) close() error {
	if err := p.plan.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return wrap("close files of the scenario", err)
	}
	return nil
}

// user is the i-th of this process.
func (p *play) user(order *spec.Spec, i int) *scenario.User {
	s := order.Scenario
	return p.plan.User(s.Seed, s.First+i, max(s.Users, order.Places()))
}

// assign gives a connection's place its user.
func (p *play) assign(order *spec.Spec, c *conn, i int) {
	c.turn = &turn{user: p.user(order, i)}
	if p.constant == nil {
		return
	}
	size := len(p.constant) / order.Pipeline
	for n := range order.Pipeline {
		c.turn.targets = append(c.turn.targets, p.plan.Targets()[0])
		c.turn.ends = append(c.turn.ends, (n+1)*size)
	}
}

// peek is what the user asks next. There always is something: nothing is
// outstanding when it is called.
func (t *turn) peek() *scenario.Target {
	if t.next == nil {
		t.next, _ = t.user.Next()
	}
	return t.next
}

// compose writes a connection's next batch, as many requests as depth says, fewer
// if one of them has a body that is streamed.
func (p *play) compose(c *conn, depth int) {
	if p.constant != nil {
		return
	}
	t := c.turn
	t.targets, t.ends, t.buf = t.targets[:0], t.ends[:0], t.buf[:0]
	for len(t.targets) < depth && c.body == nil {
		target := t.peek()
		t.next = nil
		if wire := target.Wire(); wire != nil && depth == 1 {
			c.out = wire
		} else {
			t.buf = t.user.Append(t.buf, target)
			c.out = t.buf
		}
		t.targets, t.ends = append(t.targets, target), append(t.ends, len(c.out))
		c.body, c.at = target.Stream(), 0
	}
	c.asked = len(t.targets)
}

// expect prepares a connection's parser for the next answer.
func (p *play) expect(c *conn) {
	t := c.turn
	if t.kept != nil { // an interim answer came before
		return
	}
	target := t.targets[c.done]
	c.parser.HeadOnly = target.Method() == "HEAD"
	if k := p.keep(t, target); k != nil {
		c.parser.Sink = k
	}
}

// keep makes room for what checks and captures will look at of an answer, nil if
// that is nothing.
func (p *play) keep(t *turn, target *scenario.Target) *kept {
	if !target.NeedsHead() && !target.NeedsBody() {
		return nil
	}
	if n := len(p.free); n > 0 {
		t.kept, p.free = p.free[n-1], p.free[:n-1]
	} else {
		t.kept = &kept{}
	}
	t.kept.head, t.kept.body, t.kept.noBody = t.kept.head[:0], t.kept.body[:0], !target.NeedsBody()
	return t.kept
}

// release gives back what an answer was kept in.
func (p *play) release(t *turn) {
	if k := t.kept; k != nil && len(p.free) < keptIdle {
		p.free = append(p.free, k)
	}
	t.kept = nil
}

// judge shows a complete answer to the user, and returns the name of the check that
// it failed.
func (p *play) judge(t *turn, target *scenario.Target, status int) (failed string) {
	var head, body []byte
	if t.kept != nil {
		head, body = t.kept.head, t.kept.body
	}
	failed = t.user.Answer(target, status, head, body)
	p.release(t)
	return failed
}

// lost tells the user that outstanding answers will not come.
func (p *play) lost(c *conn) {
	p.release(c.turn)
	c.parser.Sink = nil
	if c.done < c.asked {
		c.turn.user.Abort()
	}
}

// unfinished notes the age of what a user still waits for when an open loop is
// over, as the ledger does for all targets together.
func (p *play) unfinished(x *exchange, open *openLoop, now int64) {
	if open.Within(x.arrival.Intended) {
		tally.Record(p.counts[x.turn.targets[0].Index()].hist, now-x.arrival.Intended, 1)
	}
}

// begin opens the window.
func (p *play) begin() {
	for i, t := range p.plan.Targets() {
		if c := &p.counts[i]; !t.Setup() {
			c.requests, c.errors = 0, 0
			clear(c.failed)
			c.hist.Reset()
		}
	}
	for i := range p.flows {
		p.flows[i].reset()
	}
}

// result returns what was counted of the targets. All has the window's latencies:
// those of the only target, if it is constant.
func (p *play) result(requests uint64, all *hdrhistogram.Histogram) ([]spec.Target, error) {
	targets := make([]spec.Target, 0, len(p.counts))
	for i, t := range p.plan.Targets() {
		c := p.counts[i] // what comes after is counted, too, but not in the result
		if p.constant != nil {
			c.requests, c.hist = requests, all
		}
		encoded, err := tally.Encode(c.hist)
		if err != nil {
			return nil, err
		}
		targets = append(targets, spec.Target{
			Name: t.Name(), Tags: tagsOf(t), Setup: t.Setup(), Requests: c.requests, Errors: c.errors, Checks: maps.Clone(c.failed), Histogram: encoded,
		})
	}
	return targets, nil
}

// tagsOf returns the tags of a target as a mapping, nil if there are none.
func tagsOf(t *scenario.Target) map[string]string {
	if len(t.Tags()) == 0 {
		return nil
	}
	tags := make(map[string]string, len(t.Tags()))
	for _, tag := range t.Tags() {
		tags[tag.Name] = tag.Value
	}
	return tags
}
