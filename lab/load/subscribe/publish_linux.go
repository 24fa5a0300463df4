package subscribe

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/redline-go/redline/lab/load/h1"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/load/tlsclient"
	"github.com/redline-go/redline/lab/load/wire"
)

const (
	maxWaiting   = 1 << 20                       // events that are due and not sent, until the run is given up
	maxAnswer    = 1 << 20                       // bytes of the body of an answer
	publishAgain = int64(100 * time.Millisecond) // until a publisher connects again
)

// publishers send the events of spec.Publish:
//
//	schedule ──▶ queue of a publisher ──▶ one request at a time ──▶ answer
//	 n-th event: topic n modulo topics, publisher topic modulo publishers
//
// So the events of a topic are published in order, and an event's time is that at which it was
// due: what a slow answer delays is part of the delay of the events behind it.
type publishers struct {
	publishCounts
	loop   *Loop
	config *spec.Publish
	dialer *wire.Dialer
	common wire.Common
	rules  h1.Rules
	head   [][]byte // of the request; between the parts is the topic
	fill   []byte
	out    []byte // the last request
	topics uint64

	all     []*publisher
	every   float64 // nanoseconds between two events
	begun   int64   // when the first event was due; below 0: not begun
	next    uint64  // number of the next event
	waiting int     // events in all queues
	stopped bool

	from             publishCounts           // at the beginning of the window
	lag, own, answer *hdrhistogram.Histogram // of the window, see spec.Published
}

// publishCounts are totals, which only grow.
type publishCounts struct {
	due, sent, accepted uint64
	errors              [numKinds]uint64
}

// newPublishers returns publishers that connect, and do not publish yet.
func newPublishers(l *Loop, o *Options) (*publishers, error) {
	c := o.Config.Publish
	topics := max(o.Config.Topics, 1)
	p := &publishers{
		loop: l, config: c, head: bytes.Split(c.Head, []byte(spec.TopicMark)), topics: uint64(topics),
		fill: bytes.Repeat([]byte("x"), c.Size), every: float64(time.Second) / c.Rate, begun: -1,
		rules: h1.Rules{AnyBody: true, MaxBody: maxAnswer},
		lag:   tally.NewHistogram(), own: tally.NewHistogram(), answer: tally.NewHistogram(),
	}
	connections := min(c.Connections, topics)
	var err error
	if p.dialer, err = wire.NewDialer(wire.Config{Addr: c.Addr, Connections: connections, Congestion: o.Congestion}); err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	p.common = wire.Common{BytesOut: &l.book.BytesOut, MaxOwed: tlsclient.MaxOwed, KeepFrames: keptFrames, KeepPending: keptFrames}
	if c.TLS != nil {
		if p.common.TLS, err = tlsclient.For(c.TLS, false); err != nil {
			return nil, fmt.Errorf("publish: %w", err)
		}
	}
	for i := range connections {
		one := &publisher{of: p, id: -1 - int32(i), fd: -1}
		one.Conn = wire.New(&p.common, nil, func() { one.failed = true })
		one.parser.Rules = &p.rules
		p.all = append(p.all, one)
	}
	l.book.published = make([]uint64, topics)
	return p, nil
}

// start begins the schedule.
func (p *publishers) start(now int64) { p.begun = now }

// stop ends it. Events that are due and not sent are dropped.
func (p *publishers) stop() {
	p.stopped, p.waiting = true, 0
	for _, one := range p.all {
		one.queue = nil
	}
}

// busy reports whether an answer is outstanding.
func (p *publishers) busy() bool {
	for _, one := range p.all {
		if one.busy {
			return true
		}
	}
	return false
}

// dueAt returns when an event is due.
func (p *publishers) dueAt(n uint64) int64 { return p.begun + int64(float64(n)*p.every) }

// wake returns when the next event is due.
func (p *publishers) wake() int64 {
	if p.begun < 0 || p.stopped {
		return p.loop.Now() + longestWait
	}
	return p.dueAt(p.next)
}

// tend queues the events that are due, and lets each publisher do what it can. The error ends
// the run.
func (p *publishers) tend(now int64) error {
	for p.begun >= 0 && !p.stopped && p.dueAt(p.next) <= now {
		if p.waiting >= maxWaiting {
			return fmt.Errorf("publish: %d events are due and not sent, as the server takes %.0f of %.0f a second: lower --publish-rate",
				p.waiting, float64(p.sent)/float64(now-p.begun)*1e9, p.config.Rate)
		}
		one := p.all[p.next%p.topics%uint64(len(p.all))]
		one.queue = append(one.queue, p.next)
		p.waiting++
		p.due++
		p.next++
	}
	for _, one := range p.all {
		if err := one.tend(now); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
	}
	return nil
}

// event handles an epoll event of a publisher's socket.
func (p *publishers) event(id, gen int32, flags uint32) {
	if one := p.all[-1-id]; one.gen == gen && one.fd >= 0 {
		one.event(flags)
	}
}

func (p *publishers) closeAll() {
	for _, one := range p.all {
		one.close(0)
	}
}

// begin begins the window.
func (p *publishers) begin() {
	p.from = p.publishCounts
	p.lag.Reset()
	p.own.Reset()
	p.answer.Reset()
}

// result returns the figures of the window, at its end.
func (p *publishers) result() (r *spec.Published, err error) {
	r = &spec.Published{
		Topics: int(p.topics), Due: p.due - p.from.due, Sent: p.sent - p.from.sent, Accepted: p.accepted - p.from.accepted,
		Unsent: uint64(p.waiting), Errors: map[string]uint64{},
	}
	for k := range p.errors {
		if n := p.errors[k] - p.from.errors[k]; n > 0 {
			r.Errors[Kind(k).String()] = n
		}
	}
	if r.Lag, err = tally.Encode(p.lag); err != nil {
		return nil, err
	}
	if r.Own, err = tally.Encode(p.own); err != nil {
		return nil, err
	}
	r.Answer, err = tally.Encode(p.answer)
	return r, err
}

// request returns the request with an event; valid until the next call. stamp is the event's
// time in nanoseconds since 1970.
//
//	{"ts":1763721234567890123,"seq":17,"text":"xxxxxx"}
func (p *publishers) request(topic, seq uint64, stamp int64) []byte {
	const frame = `{"ts":,"seq":,"text":""}`
	var body [2][20]byte
	ts, number := strconv.AppendInt(body[0][:0], stamp, 10), strconv.AppendUint(body[1][:0], seq, 10)
	used := len(frame) + len(ts) + len(number)
	fill := p.fill[:max(0, len(p.fill)-used)]
	out := p.out[:0]
	for at, part := range p.head {
		if at > 0 {
			out = strconv.AppendUint(out, topic, 10)
		}
		out = append(out, part...)
	}
	out = append(out, "Content-Length: "...)
	out = strconv.AppendInt(out, int64(used+len(fill)), 10)
	out = append(append(out, "\r\n\r\n{\"ts\":"...), ts...)
	out = append(append(out, `,"seq":`...), number...)
	out = append(append(out, `,"text":"`...), fill...)
	p.out = append(out, `"}`...)
	return p.out
}
