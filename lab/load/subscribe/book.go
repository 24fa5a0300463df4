package subscribe

import (
	"bytes"
	"fmt"
	"iter"
	"time"
	"unsafe"

	"github.com/redline-go/redline/lab/load/h1"
	"github.com/redline-go/redline/lab/load/run"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/sse"
)

const (
	maxAsking = 256 // subscribers connecting, or without a head, at once; more overflow listen queues
	arrears   = int64(10 * time.Millisecond)
	soonest   = time.Millisecond // a subscriber comes back
)

// Recorder takes what was measured. It is called at every read.
type Recorder interface {
	sse.Recorder
	// Lag is an upper bound on how long the bytes of a read had been there.
	Lag(time.Duration)
}

// The phases of a subscriber's life.
const (
	waiting    uint8 = iota // for its turn, or its time
	connecting              //
	asking                  // for the head of the answer
	standing                //
	gone                    // for good
)

// subscriber is one place in the book.
type subscriber struct {
	sse    sse.Subscriber
	parser h1.Parser
	heard  int64 // time of the last bytes
	fd     int32 // the loop's, of HTTP/1.1 in clear; -1: none
	gen    int32 // of connections: tells events and timers of former ones
	sent   int32 // bytes of the request that the socket took
	phase  uint8
	stood  bool // once, at least
}

// What a timer is for.
const (
	comeBack uint8 = iota
	deadline       // of connecting and asking
	stall
	stalled // and nothing came with the next look at the sockets
)

// book keeps the subscribers. It knows neither sockets nor clocks: now is
// nanoseconds of a monotonic clock, wall since 1970.
type book struct {
	Counts
	config  spec.Subscribe
	stream  *sse.Stream
	rec     Recorder
	reader  *sse.Reader
	hangUp  func(i int32)      // ends a subscriber's connection, if it has one
	fresh   func(i int32) bool // whether it takes a connection of its own to be asked; nil: it does
	rules   h1.Rules
	head    []byte // of the request, without the empty line at its end
	request []byte // the last that was made
	timeout int64
	every   int64 // nanoseconds between the beginnings of connections; 0: no limit

	subs     []subscriber
	queue    []int32 // whose turn it is to connect; queue[first:] are left
	first    int
	timers   run.Timers
	nextDial int64
	asking   int // connecting or asking
	standing int
	lowest   int   // number of standing since it was last set
	stood    int   // of those who may still stand: how many have, once at least
	alive    int64 // last time that somebody stood

	turn      *subscriber // that is fed
	now, wall int64       // of the read
	refused   bool        // by the head of the present answer,
	why       Kind        // for this reason
	broken    bool        // the stream's framing is

	lastCause Kind
	detail    string // about it, as the server said it
}

func newBook(c spec.Subscribe, subscribers int, request []byte, timeout time.Duration, rate float64, rec Recorder) (*book, error) {
	stream, err := c.Stream()
	if err != nil {
		return nil, err
	}
	head, ok := bytes.CutSuffix(request, []byte("\r\n\r\n"))
	if !ok {
		return nil, fmt.Errorf("listen: request of %d bytes is no head: it does not end in an empty line", len(request))
	}
	b := &book{
		config: c, stream: stream, rec: rec, head: head, timeout: int64(timeout),
		rules: h1.Rules{AnyBody: true},
		subs:  make([]subscriber, subscribers), queue: make([]int32, subscribers), lastCause: numKinds,
	}
	b.reader = sse.NewReader(b)
	if rate > 0 {
		b.every = int64(float64(time.Second) / rate)
	}
	for i := range b.subs {
		s := &b.subs[i]
		s.sse.Init(stream)
		s.fd, s.parser.Rules, s.parser.Sink = -1, &b.rules, b
		b.queue[i] = int32(i)
	}
	return b, nil
}

// next is the subscriber who may connect now, if there is one. The caller connects
// it and says so with dialed, or with lost.
func (b *book) next(now int64) (i int32, ok bool) {
	if b.first == len(b.queue) || b.asking >= maxAsking {
		return 0, false
	}
	i = b.queue[b.first]
	if b.fresh == nil || b.fresh(i) {
		if now < b.nextDial {
			return 0, false
		}
		// What was missed while the thread did other things is made up for, but
		// never at once.
		b.nextDial = max(b.nextDial, now-arrears) + b.every
	}
	if b.first++; b.first == len(b.queue) {
		b.queue, b.first = b.queue[:0], 0
	}
	s := &b.subs[i]
	s.phase = connecting
	b.asking++
	b.timers.Add(run.Timer{Due: now + b.timeout, ID: i, Generation: s.gen, What: deadline})
	return i, true
}

// wake is when the book has to be asked again; at most until.
func (b *book) wake(until int64) int64 {
	if due, ok := b.timers.Next(); ok {
		until = min(until, due)
	}
	if b.first < len(b.queue) && b.asking < maxAsking {
		until = min(until, b.nextDial)
	}
	return until
}

// connected begins the request of a subscriber on a connection of its own.
func (b *book) connected(i int32) {
	b.Connects++
	b.asks(i)
}

// asks begins the request of a subscriber.
func (b *book) asks(i int32) {
	s := &b.subs[i]
	s.phase, s.sent = asking, 0
	s.parser.Reset()
}

// unsent is what of a subscriber's request is to be written; valid until the next
// call. took says how much the socket took.
func (b *book) unsent(i int32) []byte {
	s := &b.subs[i]
	r := append(b.request[:0], b.head...)
	if id := b.lastID(i); len(id) > 0 {
		r = append(r, "\r\nLast-Event-ID: "...)
		r = append(r, id...)
	}
	b.request = append(r, "\r\n\r\n"...)
	return b.request[s.sent:]
}

func (b *book) took(i int32, n int) { b.subs[i].sent += int32(n) }

// lastID is what a subscriber's request has in Last-Event-ID, without the blanks
// around it; nothing if it is empty.
func (b *book) lastID(i int32) []byte {
	if b.config.Format != spec.FormatEvents {
		return nil
	}
	return bytes.Trim(b.subs[i].sse.LastID(), " \t")
}

// eof is the end of a subscriber's connection by the peer.
func (b *book) eof(i int32, now int64) {
	s := &b.subs[i]
	switch {
	case s.parser.EOF() != h1.More:
		b.ended(i, now)
	case s.parser.Begun():
		b.lost(i, Short, now)
	default:
		b.lost(i, Closed, now)
	}
}

// ended is the end of a stream, in order.
func (b *book) ended(i int32, now int64) {
	b.Ends++
	if !b.config.Ends {
		b.lost(i, Closed, now)
		return
	}
	b.drop(i, now)
}

// lost counts an error of a connection, which ends it.
func (b *book) lost(i int32, k Kind, now int64) {
	why := ""
	if k == Status || k == Redirect || k == Coding || k == Media {
		why = b.detail
	}
	b.count(k, why)
	b.drop(i, now)
}

// fails is lost with what there is to say about it.
func (b *book) fails(i int32, k Kind, why string, now int64) {
	b.count(k, why)
	b.drop(i, now)
}

// count counts an error.
func (b *book) count(k Kind, why string) {
	b.lastCause, b.detail = k, why
	b.Errors[k]++
}

// drop ends a connection and lets the subscriber come back in its time.
func (b *book) drop(i int32, now int64) {
	s := b.leave(i)
	if b.config.Retry == spec.NeverRetry {
		b.retired(s)
		return
	}
	wait, said := s.sse.Retry()
	if !said {
		wait = b.config.Retry
	}
	b.timers.Add(run.Timer{Due: now + int64(max(wait, soonest)), ID: i, Generation: s.gen, What: comeBack})
}

// retire ends a subscriber's life.
func (b *book) retire(i int32) { b.retired(b.leave(i)) }

func (b *book) retired(s *subscriber) {
	s.phase = gone
	b.Retired++
	if s.stood {
		b.stood--
	}
}

// leave ends a connection.
func (b *book) leave(i int32) *subscriber {
	s := &b.subs[i]
	if s.phase == standing {
		b.standing--
		b.lowest = min(b.lowest, b.standing)
	} else {
		b.asking--
	}
	b.hangUp(i)
	before := s.sse.Counts
	s.sse.Reconnect()
	b.grow(&before, &s.sse.Counts)
	s.parser.Reset()
	s.gen++
	s.phase = waiting
	return s
}

// fire does what is due.
func (b *book) fire(now int64) {
	for {
		e, ok := b.timers.Take(now)
		if !ok {
			return
		}
		s := &b.subs[e.ID]
		if s.gen != e.Generation {
			continue
		}
		switch e.What {
		case comeBack:
			b.queue = append(b.queue, e.ID)
		case deadline:
			if s.phase == connecting || s.phase == asking {
				b.lost(e.ID, Timeout, now)
			}
		case stall, stalled:
			switch {
			case s.heard+int64(b.config.Stall) > now:
				b.armStall(e.ID, s)
			case e.What == stall: // bytes may be there that nobody has looked for
				b.timers.Add(run.Timer{Due: now + arrears, ID: e.ID, Generation: s.gen, What: stalled})
			default:
				b.lost(e.ID, Stall, now)
			}
		}
	}
}

// index is the place of s.
func (b *book) index(s *subscriber) int32 {
	return int32((uintptr(unsafe.Pointer(s)) - uintptr(unsafe.Pointer(&b.subs[0]))) / unsafe.Sizeof(*s))
}

// quiet looks at those who stand at the end of a window.
func (b *book) quiet(r *spec.Subscribed, begin, now int64) {
	var longest int64
	for s, silence := range b.silences(begin, now) {
		if s.sse.Over() {
			r.Endless++
		}
		if silence >= now-begin {
			r.Quiet++
		}
		longest = max(longest, silence)
	}
	r.Silence = float64(longest) / 1e9
}

// silences yields the subscribers that stand, and for how many nanoseconds they have had no
// event; since the window began if they never had one.
func (b *book) silences(begin, now int64) iter.Seq2[*subscriber, int64] {
	return func(yield func(*subscriber, int64) bool) {
		for i := range b.subs {
			s := &b.subs[i]
			if s.phase != standing {
				continue
			}
			last, ok := s.sse.Last()
			if !ok {
				last = begin
			}
			if !yield(s, now-last) {
				return
			}
		}
	}
}

// armStall sets the time at which a subscriber that hears nothing gives up.
func (b *book) armStall(i int32, s *subscriber) {
	if b.config.Stall > 0 {
		b.timers.Add(run.Timer{Due: s.heard + int64(b.config.Stall), ID: i, Generation: s.gen, What: stall})
	}
}

// cause is the last error, in words.
func (b *book) cause() string {
	switch {
	case b.lastCause == numKinds:
		return "no subscriber has been answered"
	case b.lastCause >= TLS:
		return b.detail
	case b.detail != "":
		return causes[b.lastCause] + " (" + b.detail + ")"
	}
	return causes[b.lastCause]
}
