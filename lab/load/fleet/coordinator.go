package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Plan is a run of a fleet.
type Plan struct {
	Orders   []Order       // one for each worker
	Warmup   time.Duration // before the window, equal to that of the specifications
	Window   time.Duration // measured time, equal to that of the specifications
	Counted  bool          // Window is a maximum: it ends after a number of requests
	Tick     time.Duration // interval of the points of the common series
	OnPoint  func(Point)   // called with each point once all remaining workers have passed it; may be nil
	OnMoment func(Moment)  // called at the moments of the run; may be nil
	OnLost   func(string)  // called when a worker is lost, with its name and the reason; may be nil

	Again <-chan struct{} // closed to end the wait for answers too, after the end of the context; may be nil

	OnStart func(at time.Time) // called when the start of the load, 0 of the series, is agreed; may be nil

	// Timeouts. 0 means the default given here.
	Join    time.Duration // until all workers have joined: a minute
	Ready   time.Duration // until all connections are established: two minutes
	Lead    time.Duration // from the decision to start to the start: 300 ms
	Silence time.Duration // without a message until a worker is lost, while this process runs: ten seconds
	Cut     time.Duration // from the end of the context to the last result: ten seconds
	Run     time.Duration // from the start to the last result: a minute and four windows
}

func (p *Plan) defaults() error {
	switch {
	case len(p.Orders) == 0:
		return errors.New("fleet: no orders")
	case p.Window <= 0:
		return fmt.Errorf("fleet: window %v is not positive", p.Window)
	case p.Tick <= 0:
		return fmt.Errorf("fleet: tick %v is not positive", p.Tick)
	}
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	set(&p.Join, time.Minute)
	set(&p.Ready, 2*time.Minute)
	set(&p.Lead, 300*time.Millisecond)
	set(&p.Silence, 10*time.Second)
	set(&p.Cut, 10*time.Second) // longer than generators wait for outstanding answers
	set(&p.Run, time.Minute+4*p.Window)
	return nil
}

// Moment is a point of the run that all remaining workers have reached.
type Moment int

// The moments of a run. Each is reported once, in this order.
const (
	Connected Moment = iota // all connections are established
	Opened                  // all windows have begun
	Closed                  // all windows have ended
)

const (
	beatEvery = 50 * time.Millisecond // before the start
	slowBeats = 10                    // after the start: one beat per 10 intervals
	exchanges = 8                     // minimum of clock exchanges before the start
	maxNotes  = 20                    // in the outcome
)

// phase is the progress of a run.
type phase int

const (
	joining phase = iota
	preparing
	running
)

// coordinator is a run in progress. One goroutine owns it.
type coordinator struct {
	plan    Plan
	carrier Carrier
	clock   clock
	phase   phase
	bound   time.Time // deadline of the phase
	start   int64     // agreed time
	seq     uint64
	awake   awakeClock // of this process; the time axis of silence
	members []*member  // by share; nil until joined
	byID    map[string]*member
	series  series
	shown   int             // number of points passed to OnPoint
	moment  Moment          // the next one
	cut     bool            // the run was cut short
	refused map[string]bool // ids of refused workers
	notes   []string
}

// Coordinate carries out a plan. It returns an outcome if at least one worker had a result;
// the outcome reports all other failures. Otherwise it returns an error.
//
// The end of ctx cuts the run short: the workers report what they have measured, and the
// outcome covers the time until then. When Coordinate returns, it has sent Stop to all
// reachable workers. The caller must close the carrier.
func Coordinate(ctx context.Context, carrier Carrier, plan Plan) (*Outcome, error) {
	if err := plan.defaults(); err != nil {
		return nil, err
	}
	c := &coordinator{
		plan: plan, carrier: carrier, clock: newClock(), bound: time.Now().Add(plan.Join),
		members: make([]*member, len(plan.Orders)), byID: map[string]*member{}, refused: map[string]bool{},
		series: seriesOf(&plan), awake: awakeClock{every: beatEvery},
	}
	err := c.loop(ctx)
	why := ""
	if err != nil {
		why = err.Error()
	}
	c.stop(why)
	if err != nil {
		return nil, err
	}
	o, err := c.outcome()
	if err != nil && c.cut {
		err = context.Cause(ctx)
	}
	return o, err
}

func (c *coordinator) loop(ctx context.Context) error {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	done, again := ctx.Done(), c.plan.Again
	for n := 0; !c.finished(); {
		select {
		case <-done:
			if c.phase != running {
				return context.Cause(ctx)
			}
			done = nil
			c.end()
		case <-again:
			again = nil
			if c.cut {
				c.end()
			}
		case m, ok := <-c.carrier.Inbox():
			if !ok {
				return errors.New("the connection to the workers was closed")
			}
			if err := c.take(m); err != nil {
				return err
			}
		case <-beat.C:
			if n++; c.phase != running || n%slowBeats == 0 {
				c.beat()
			}
			c.loseSilent(time.Now())
		}
		if err := c.advance(); err != nil {
			return err
		}
	}
	c.show(true)
	return nil
}

// end cuts the run short, and the second time the wait for answers.
func (c *coordinator) end() {
	c.cut, c.bound = true, time.Now().Add(c.plan.Cut)
	c.each(func(w *member) {
		if w.working() {
			c.send(w, &Message{Cut: &Cut{}})
		}
	})
}

// reportLosses calls OnLost for workers that were lost.
func (c *coordinator) reportLosses() {
	for _, w := range c.members {
		if w.lost != nil && !w.lossReported {
			if w.lossReported = true; c.plan.OnLost != nil && !c.cut {
				c.plan.OnLost(fmt.Sprintf("%s is lost: %s", w.name(), w.lost.Cause))
			}
		}
	}
}

// reportMoments calls OnMoment for the moments that the workers have reached.
func (c *coordinator) reportMoments() {
	for ; c.moment <= Closed; c.moment++ {
		for _, w := range c.members {
			if w.working() && (c.moment == Opened && w.window == 0 || c.moment == Closed && !w.through(int64(c.plan.Window))) {
				return
			}
		}
		if c.plan.OnMoment != nil {
			c.plan.OnMoment(c.moment)
		}
	}
}

// finished reports whether every worker is lost or has a result.
func (c *coordinator) finished() bool {
	return c.phase == running && !slices.ContainsFunc(c.members, (*member).working)
}

// each calls f with the workers that joined.
func (c *coordinator) each(f func(*member)) {
	for _, m := range c.members {
		if m != nil {
			f(m)
		}
	}
}

// send sends to a member. An unreachable member is lost by its silence, unless another
// reason is found earlier.
func (c *coordinator) send(w *member, m *Message) {
	if err := c.carrier.Send(w.id, m); err != nil {
		w.trouble = fmt.Sprintf("send to it: %v", err)
	}
}

func (c *coordinator) beat() {
	c.seq++
	c.each(func(w *member) {
		if w.lost == nil {
			c.send(w, &Message{Beat: &Beat{Seq: c.seq, Sent: c.clock.now()}})
		}
	})
}

// loseSilent marks workers as lost that sent nothing for Silence.
func (c *coordinator) loseSilent(at time.Time) {
	now := c.awake.look(at)
	c.each(func(w *member) {
		if w.working() && now-w.heardAt > c.plan.Silence {
			w.lose(w.heard, strings.Join(slices.DeleteFunc([]string{"it stopped responding", w.trouble}, func(s string) bool { return s == "" }), "; "))
		}
	})
}

// advance enters the next phase when it can begin. Before the start, the loss of a worker
// ends the run.
func (c *coordinator) advance() error {
	late := time.Now().After(c.bound)
	if c.phase != running {
		for _, w := range c.members {
			if w != nil && w.lost != nil {
				return fmt.Errorf("%s was lost before the start: %s", w.name(), w.lost.Cause)
			}
		}
	}
	switch c.phase {
	case joining:
		if missing := c.missing(func(w *member) bool { return w != nil && w.offset.Exchanges >= exchanges }); missing != "" {
			return c.tooLate(late, "joined", c.plan.Join, missing)
		}
		c.order()
	case preparing:
		if missing := c.missing(func(w *member) bool { return w.ready }); missing != "" {
			return c.tooLate(late, "connected", c.plan.Ready, missing)
		}
		c.begin()
	case running:
		c.reportLosses()
		c.reportMoments()
		c.show(false)
		if late {
			why := fmt.Sprintf("no result within %v of the start", c.plan.Run)
			if c.cut {
				why = fmt.Sprintf("no result within %v of the interrupt", c.plan.Cut)
			}
			c.each(func(w *member) { w.lose(c.clock.now(), why) })
		}
	}
	return nil
}

// missing lists the shares whose workers do not satisfy ok.
func (c *coordinator) missing(ok func(*member) bool) string {
	var list []string
	for i, w := range c.members {
		if !ok(w) {
			list = append(list, fmt.Sprint(i))
		}
	}
	return strings.Join(list, ", ")
}

func (c *coordinator) tooLate(late bool, what string, limit time.Duration, missing string) error {
	if !late {
		return nil
	}
	n := len(c.members)
	return fmt.Errorf("%d of %d workers %s within %v; missing: worker %s", n-strings.Count(missing, ",")-1, n, what, limit, missing)
}

func (c *coordinator) order() {
	c.phase, c.bound = preparing, time.Now().Add(c.plan.Ready)
	for i, w := range c.members {
		o := c.plan.Orders[i]
		if err := c.carrier.Send(w.id, &Message{Order: &o}); err != nil {
			w.lose(c.clock.now(), fmt.Sprintf("its order could not be sent: %v", err))
		}
	}
}

func (c *coordinator) begin() {
	now := time.Now()
	c.phase, c.bound = running, now.Add(c.plan.Lead+c.plan.Run)
	c.start = c.clock.at(now.Add(c.plan.Lead))
	if c.plan.OnStart != nil {
		c.plan.OnStart(now.Add(c.plan.Lead))
	}
	c.each(func(w *member) {
		w.startAt = c.start + w.offset.Nanoseconds
		c.send(w, &Message{Start: &Start{At: w.startAt}})
	})
}

// stop sends Stop to all workers. An unreachable worker stops when it receives nothing more.
func (c *coordinator) stop(why string) {
	c.each(func(w *member) { c.send(w, &Message{Stop: &Stop{Why: why}}) })
}

// take handles a message.
func (c *coordinator) take(m *Message) error {
	w := c.byID[m.From]
	if m.Join != nil {
		return c.join(m, w)
	}
	if w == nil {
		if m.Gone != nil && c.phase == joining && !c.refused[m.From] {
			return fmt.Errorf("a worker ended before it joined: %s", m.Gone.Why)
		}
		return nil // from an unknown or replaced worker
	}
	w.hear(c, m)
	switch {
	case m.Echo != nil:
		w.offset.add(m.Echo.Beat.Sent, m.Echo.Received, m.Echo.Sent, w.heard)
	case m.Ready != nil:
		w.ready = true
	case m.Began != nil:
		w.late = m.Began.At - w.startAt
	case m.Gone != nil:
		w.lose(w.heard, m.Gone.Why)
	case m.Report != nil:
		w.report(c, m.Report)
	}
	return nil
}

// join assigns a share to a worker. Before the orders are sent, a worker that requests an
// assigned share replaces the earlier worker, as a new pod in Kubernetes does.
func (c *coordinator) join(m *Message, w *member) error {
	if w != nil {
		w.hear(c, m)
		return nil // it sent Join again before it received a message
	}
	refuse := func(why string) error {
		c.refuse(m, why)
		return nil
	}
	i := m.Join.Index
	switch {
	case m.Join.Protocol != protocol:
		return refuse(fmt.Sprintf("it has version %d of the protocol, the coordinator %d: run the same build everywhere", m.Join.Protocol, protocol))
	case c.phase != joining:
		return refuse("the run has already begun")
	case i >= len(c.members):
		return refuse(fmt.Sprintf("it asks for share %d of %d", i, len(c.members)))
	case i < 0:
		if i = slices.Index(c.members, nil); i < 0 {
			return refuse(fmt.Sprintf("there are %d workers already", len(c.members)))
		}
	case c.members[i] != nil:
		old := c.members[i]
		delete(c.byID, old.id)
		c.refuse(&Message{From: old.id, Join: &old.join}, fmt.Sprintf("another worker has taken share %d", i))
	}
	w = &member{id: m.From, join: *m.Join, share: c.plan.Orders[i].Share}
	w.hear(c, m)
	c.members[i], c.byID[w.id] = w, w
	return nil
}
