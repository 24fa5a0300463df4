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
	// keptBody is how many bytes of an answer's body are kept for checks and captures.
	keptBody = 256 << 10

	// manyTargets is the number of targets above which their latencies have one digit: a
	// histogram of two takes 36 KiB, and an access log has many thousands of targets.
	manyTargets = 500

	// keptIdle is how many free buffers are kept for later answers.
	keptIdle = 64
)

// checkError is the failure of a check.
type checkError struct{ target, check string }

func (e *checkError) Error() string { return fmt.Sprintf("%s: %s does not hold", e.target, e.check) }

// play is a scenario in a loop: the users' requests, and their results.
type play struct {
	plan     *scenario.Plan
	constant []byte // all requests are these bytes; nil: they differ
	counts   []targetCount
	moments  moments
	flows    []flowCount
	free     []*kept
	requests []*h2.Request // of HTTP/2, by target; nil: the request varies
}

// targetCount counts one target. Every answer updates it, so the counts are in an array.
type targetCount struct {
	requests, errors uint64
	failed           map[string]uint64
	hist             *hdrhistogram.Histogram
}

// turn is the state of a scenario on a connection. A user exists as long as its place:
// it survives the sockets of the place.
type turn struct {
	user    *scenario.User
	next    *scenario.Target   // chosen, and not written yet
	targets []*scenario.Target // of the batch
	ends    []int              // of their requests in the batch, without streamed bodies
	buf     []byte             // of batches that are written once
	kept    *kept              // of the answer that is arriving

	within   bool  // in an iteration of a flow that has had an answer
	began    int64 // time when the iteration began
	waited   int64 // total wait for its answers so far
	answered int64 // time of the last of them
}

// kept holds the parts of an answer that checks and captures use.
type kept struct {
	head, body []byte
	noBody     bool
}

// Head keeps the head of an answer. Head and Content make kept an h1.Sink.
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
	p.counts, p.flows, p.moments = newCounts(len(plan.Targets())), newFlows(plan), newMoments(plan.Targets())
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

// accept returns an error if the loop cannot run the plan.
func (p *play) accept(order *spec.Spec) error {
	origins := p.plan.Origins()
	switch {
	case len(origins) != 1:
		return fmt.Errorf("scenario: requests to %d servers: write one scenario for each, and run them in parallel", len(origins))
	case origins[0].Scheme != order.Scheme():
		return fmt.Errorf("scenario: requests use %s, connections %s", origins[0].Scheme, order.Scheme())
	case p.plan.Sequential() && order.Pipeline > 1:
		return fmt.Errorf("scenario: flows, setup and cookies wait for answers and cannot use a pipeline of %d", order.Pipeline)
	}
	s := order.Scenario
	if users, places := max(s.Users, order.Places()), order.Places(); s.First < 0 || s.First+places > users {
		return fmt.Errorf("scenario: users %d to %d of %d", s.First, s.First+places-1, users)
	}
	return nil
}

// close closes the files of the plan. They were only read.
func (p *play) close() error {
	if err := p.plan.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return wrap("close files of the scenario", err)
	}
	return nil
}

// user returns the i-th user of this process.
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

// peek returns the user's next request. There always is one, because nothing is
// outstanding when it is called.
func (t *turn) peek() *scenario.Target {
	if t.next == nil {
		t.next, _ = t.user.Next()
	}
	return t.next
}

// compose writes a connection's next batch of depth requests, fewer
// if one of them has a streamed body.
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
	if t.kept != nil { // an interim answer preceded this one
		return
	}
	target := t.targets[c.done]
	c.parser.HeadOnly = target.Method() == "HEAD"
	if k := p.keep(t, target); k != nil {
		c.parser.Sink = k
	}
}

// keep returns a buffer for what checks and captures use of an answer, nil if
// they use nothing.
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

// release returns the buffer of an answer.
func (p *play) release(t *turn) {
	if k := t.kept; k != nil && len(p.free) < keptIdle {
		p.free = append(p.free, k)
	}
	t.kept = nil
}

// judge passes a complete answer to the user, and returns the name of the failed check.
func (p *play) judge(t *turn, target *scenario.Target, status int) (failed string) {
	var head, body []byte
	if t.kept != nil {
		head, body = t.kept.head, t.kept.body
	}
	failed = t.user.Answer(target, status, head, body)
	p.release(t)
	return failed
}

// lost ends the user's iteration if answers are outstanding.
func (p *play) lost(c *conn) {
	p.release(c.turn)
	c.parser.Sink = nil
	if c.done < c.asked {
		c.turn.user.Abort()
	}
}

// unfinished counts a request that is unanswered at the end of an open loop as an error
// of its target and records its age, as the ledger does for all targets together.
func (p *play) unfinished(x *exchange, open *openLoop, now int64) {
	if open.Within(x.arrival.Intended) {
		c := &p.counts[x.turn.targets[0].Index()]
		c.errors++
		tally.Record(c.hist, now-x.arrival.Intended, 1)
	}
}

// begin begins the window.
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
		c := p.counts[i] // a copy: later answers are counted, but not in the result
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
