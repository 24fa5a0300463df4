package subscribe

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
	"unsafe"

	"github.com/redline-go/redline/lab/load/h1"
	"github.com/redline-go/redline/lab/load/run"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/sse"
)

const (
	maxAsking = 256                          // maximum of subscribers connecting or waiting for a head; more overflow listen queues
	arrears   = int64(10 * time.Millisecond) // maximum delay that later connections make up for
	soonest   = time.Millisecond             // minimum wait before a reconnect
)

// Recorder records measurements. It is called at every read.
type Recorder interface {
	sse.Recorder
	// Lag records an upper bound on the time that the bytes of a read waited in the socket, once for
	// each of its events: a generator that is late reads many at once, and all their delays are longer.
	Lag(d time.Duration, events int)
}

// The phases of a subscriber.
const (
	waiting    uint8 = iota // in the queue, or until a timer fires
	connecting              //
	asking                  // request sent, waiting for the head of the answer
	standing                // receives events
	gone                    // does not reconnect
)

// subscriber is the state of one subscriber.
type subscriber struct {
	sse    sse.Subscriber
	parser h1.Parser
	heard  int64 // time of the last read
	fd     int32 // of HTTP/1.1 in clear, owned by the loop; -1: none
	gen    int32 // of the connection; events and timers of earlier ones are ignored
	sent   int32 // bytes of the request that the socket accepted
	phase  uint8
	stood  bool // has been standing at least once
	anew   bool // has left, and joins as a new subscriber
	slow   bool // see spec.SlowRead
	asleep bool // slow: does not read before its timer fires
}

// The purposes of timers.
const (
	reconnect uint8 = iota
	deadline        // of connecting and asking
	stall
	stalled // stall, but unread bytes may be in the socket
	sip     // a slow subscriber may read
)

// book holds the subscribers. It uses neither sockets nor clocks: now is nanoseconds of a
// monotonic clock, wall is nanoseconds since 1970.
type book struct {
	Counts
	config  spec.Subscribe
	stream  *sse.Stream
	rec     Recorder
	reader  *sse.Reader
	hangUp  func(i int32)                // closes a subscriber's connection or stream, if any
	resume  func(i int32, now int64)     // lets a slow subscriber read
	send    func(i int32, b []byte) bool // sends on a subscriber's connection, and reports whether it can be used further
	fresh   func(i int32) bool           // reports whether the subscriber needs a new connection; nil: always
	rules   h1.Rules
	head    [][]byte // of the request, without the empty line at its end; between the parts is the topic
	request []byte   // the last one built
	timeout int64
	every   int64 // nanoseconds between the beginnings of connections; 0: no limit

	subs     []subscriber
	queue    []int32 // subscribers to connect; queue[first:] are left
	first    int
	timers   run.Timers
	nextDial int64
	asking   int // number in phase connecting or asking
	standing int
	lowest   int   // minimum of standing since it was last set
	stood    int   // number of subscribers that have stood at least once and are not gone
	alive    int64 // last time at which a subscriber was standing

	crowd
	sockets []socket // by subscriber; nil: no WebSockets

	turn      *subscriber // the current one
	now, wall int64       // of the current read
	refused   bool        // the head of the current answer was not valid
	why       Kind        // reason of refused; numKinds: status 204
	broken    bool        // the framing of the stream is invalid
	closing   bool        // the server has closed the WebSocket

	lastCause Kind
	detail    string // of lastCause, from the answer or the protocol; may be empty
}

func newBook(c spec.Subscribe, subscribers int, request []byte, timeout time.Duration, rate float64, rec Recorder) (*book, error) {
	stream, err := c.Stream()
	if err != nil {
		return nil, err
	}
	head, ok := bytes.CutSuffix(request, []byte("\r\n\r\n"))
	if !ok {
		return nil, fmt.Errorf("listen: request of %d bytes is not a complete head: it does not end in an empty line", len(request))
	}
	b := &book{
		config: c, stream: stream, rec: rec, head: bytes.Split(head, []byte(spec.TopicMark)), timeout: int64(timeout),
		rules: h1.Rules{AnyBody: true},
		subs:  make([]subscriber, subscribers), queue: make([]int32, subscribers), lastCause: numKinds,
	}
	b.reader = sse.NewReader(b)
	if c.WebSocket != nil {
		b.sockets = make([]socket, subscribers)
	}
	if rate > 0 {
		b.every = int64(float64(time.Second) / rate)
	}
	for i := range b.subs {
		s := &b.subs[i]
		s.sse.Init(stream)
		s.fd, s.parser.Rules, s.parser.Sink = -1, &b.rules, b
		s.slow = b.isSlow(i)
		b.queue[i] = int32(i)
	}
	return b, nil
}

// next returns the subscriber that may connect now, if any. The caller connects it, and
// calls connected or lost.
func (b *book) next(now int64) (i int32, ok bool) {
	if b.first == len(b.queue) || b.asking >= maxAsking {
		return 0, false
	}
	i = b.queue[b.first]
	if b.fresh == nil || b.fresh(i) {
		if now < b.nextDial {
			return 0, false
		}
		// Make up for connections that the thread was too busy to begin, up to arrears.
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

// wake returns when the book next has something to do; at most until.
func (b *book) wake(until int64) int64 {
	if due, ok := b.timers.Next(); ok {
		until = min(until, due)
	}
	if b.first < len(b.queue) && b.asking < maxAsking {
		until = min(until, b.nextDial)
	}
	if b.churnEvery > 0 {
		until = min(until, b.nextLeave)
	}
	return until
}

// connected begins the request of a subscriber on its own connection.
func (b *book) connected(i int32) {
	b.Connects++
	b.asks(i)
}

// asks begins the request of a subscriber.
func (b *book) asks(i int32) {
	s := &b.subs[i]
	s.phase, s.sent = asking, 0
	s.parser.Reset()
	if b.sockets != nil {
		b.sockets[i].Reset()
	}
}

// unsent returns the unsent part of a subscriber's request; valid until the next call.
// took records how many bytes the socket accepted.
func (b *book) unsent(i int32) []byte {
	s := &b.subs[i]
	r := b.request[:0]
	for at, part := range b.head {
		if at > 0 {
			r = strconv.AppendInt(r, int64(b.topic(i)), 10)
		}
		r = append(r, part...)
	}
	if id := b.lastID(i); len(id) > 0 {
		r = append(r, "\r\nLast-Event-ID: "...)
		r = append(r, id...)
	}
	b.request = append(r, "\r\n\r\n"...)
	return b.request[s.sent:]
}

func (b *book) took(i int32, n int) { b.subs[i].sent += int32(n) }

// lastID returns the value of Last-Event-ID for a subscriber's request, without
// surrounding blanks; empty means no such field.
func (b *book) lastID(i int32) []byte {
	if b.config.Format != spec.FormatEvents {
		return nil
	}
	return bytes.Trim(b.subs[i].sse.LastID(), " \t")
}

// eof handles the end of a subscriber's connection by the peer.
func (b *book) eof(i int32, now int64) {
	s := &b.subs[i]
	switch {
	case b.sockets != nil && s.phase == standing:
		b.lost(i, Short, now) // without a frame that closes it
	case s.parser.EOF() != h1.More:
		b.ended(i, now)
	case s.parser.Begun():
		b.lost(i, Short, now)
	default:
		b.lost(i, Closed, now)
	}
}

// ended handles the regular end of a stream.
func (b *book) ended(i int32, now int64) {
	if !b.subs[i].slow {
		b.Ends++
	}
	if b.subs[i].slow || !b.config.Ends {
		b.lost(i, Closed, now)
		return
	}
	b.drop(i, now)
}

// lost counts a connection error and ends the connection.
func (b *book) lost(i int32, k Kind, now int64) {
	why := ""
	if k == Status || k == Redirect || k == Coding || k == Media {
		why = b.detail
	}
	b.fails(i, k, why, now)
}

// fails is lost with a detail. A server may end the connections of slow subscribers: it is not
// an error.
func (b *book) fails(i int32, k Kind, why string, now int64) {
	if b.subs[i].slow {
		b.lastCause, b.detail = k, why
		b.Slow.Ended++
	} else {
		b.count(k, why)
	}
	b.drop(i, now)
}

// count counts an error.
func (b *book) count(k Kind, why string) {
	b.lastCause, b.detail = k, why
	b.Errors[k]++
}

// drop ends a connection and schedules the reconnect, if there is to be one.
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
	b.timers.Add(run.Timer{Due: now + int64(max(wait, soonest)), ID: i, Generation: s.gen, What: reconnect})
}

// retire ends a connection; the subscriber does not reconnect.
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
	b.grow(s, &before)
	s.parser.Reset()
	s.gen++
	s.asleep = false
	s.phase = waiting
	return s
}

// fire runs the timers that are due.
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
		case reconnect:
			b.queue = append(b.queue, e.ID)
		case sip:
			s.asleep = false
			b.resume(e.ID, now)
		case deadline:
			if s.phase == connecting || s.phase == asking {
				b.lost(e.ID, Timeout, now)
			}
		case stall, stalled:
			switch {
			case s.heard+int64(b.config.Stall) > now:
				b.armStall(e.ID, s)
			case e.What == stall: // bytes that were not read yet may be in the socket
				b.timers.Add(run.Timer{Due: now + arrears, ID: e.ID, Generation: s.gen, What: stalled})
			default:
				b.lost(e.ID, Stall, now)
			}
		}
	}
}

// lag records how long a read was late, which may have completed events since there were before.
func (b *book) lag(d time.Duration, before uint64) { b.rec.Lag(d, max(1, int(b.Events-before))) }

// index returns the index of s in subs.
func (b *book) index(s *subscriber) int32 {
	return int32((uintptr(unsafe.Pointer(s)) - uintptr(unsafe.Pointer(&b.subs[0]))) / unsafe.Sizeof(*s))
}

// armStall sets the timer that ends a stream without input.
func (b *book) armStall(i int32, s *subscriber) {
	if b.config.Stall > 0 && !s.slow {
		b.timers.Add(run.Timer{Due: s.heard + int64(b.config.Stall), ID: i, Generation: s.gen, What: stall})
	}
}

// cause describes the last error.
func (b *book) cause() string {
	switch {
	case b.lastCause == numKinds:
		return "no answer to any subscriber"
	case b.lastCause >= TLS:
		return b.detail
	case b.detail != "":
		return causes[b.lastCause] + " (" + b.detail + ")"
	}
	return causes[b.lastCause]
}
