package sse

import (
	"bytes"
	"math"
	"time"
)

// maxID limits the last event id that a Subscriber stores, in bytes. An event with a longer
// one counts as oversized.
const maxID = 1024

// A Recorder receives measurements.
type Recorder interface {
	// Gap receives the time between two events of one subscriber. There is none between
	// events of the same read.
	Gap(time.Duration)
	// Delay receives the time from a server's stamp to the read that completed the event.
	// It is negative if the clocks differ by more.
	Delay(time.Duration)
}

// Counts are the counters of a subscriber. They never decrease.
type Counts struct {
	Events     uint64 // complete records; of server-sent events only those with data
	Bytes      uint64 // of the stream
	Missed     uint64 // ids skipped between two received ones
	Duplicated uint64 // ids not higher than the highest one before
	Oversized  uint32 // records that exceeded the limit
	Cut        uint32 // records truncated by the end of a connection
	Comments   uint32 // comment lines of server-sent events, which keep a connection alive
}

// A Subscriber tracks one stream across its connections. It belongs to one goroutine, and
// must not be copied after the first Feed.
type Subscriber struct {
	Counts
	retry   uint32 // milliseconds, plus one; 0: not set by the server
	wait    uint32 // the same, while it is being read
	stream  *Stream
	last    int64  // time of the last event, nanoseconds of the monotonic clock
	highest uint64 // id
	scanner Scanner
	stamp   finder
	serial  finder
	// ids[:idLen] is the last event id; the rest is the id of the current event.
	ids     []byte
	idLen   uint16
	idMark  uint16 // offset of the id being read
	idNew   bool   // the current event has an id
	idLong  bool   // it is too long
	waitAny bool   // it has digits
	waitBad bool   // it is not a number
	data    bool   // the current event has a data field
	seen    bool   // there was an event: last is valid
	known   bool   // highest is an id that was received
	expects bool   // highest is valid: it was received, or see Expect
}

// Init initializes s as a subscriber at the start of its first connection.
func (s *Subscriber) Init(stream *Stream) {
	*s = Subscriber{stream: stream, scanner: stream.scanner}
}

// A Reader feeds any number of subscribers. It belongs to one goroutine.
type Reader struct{ turn turn }

// NewReader returns a Reader whose subscribers' measurements go to rec.
func NewReader(rec Recorder) *Reader { return &Reader{turn{rec: rec}} }

// turn is a Subscriber while it is being fed. It is part of the Reader because otherwise
// each read would allocate it.
type turn struct {
	*Subscriber
	now  int64
	wall int64
	rec  Recorder
	Seen
}

// Seen counts events that contained what a Config asks for. The counts never decrease.
type Seen struct {
	Stamped  uint64 // events with a time
	Numbered uint64 // events with an id that is an integer
}

// Seen returns the counts of all subscribers that r fed.
func (r *Reader) Seen() Seen { return r.turn.Seen }

// Feed consumes bytes of a subscriber's stream, split at any position, with the time of the
// read: now on a monotonic clock for gaps, and wall since 1970 for delays, both in
// nanoseconds. After an error, which is ErrFraming, the connection can no longer be used.
// Feed does not allocate, except for an id longer than any before.
func (r *Reader) Feed(s *Subscriber, b []byte, now, wall int64) error {
	s.Bytes += uint64(len(b))
	r.turn.Subscriber, r.turn.now, r.turn.wall = s, now, wall
	err := s.scanner.Feed(b, s.stream.extra, &r.turn)
	r.turn.Subscriber = nil
	return err
}

// Part consumes bytes of the current record of a stream of Messages.
func (r *Reader) Part(s *Subscriber, b []byte) {
	s.Bytes += uint64(len(b))
	if s.scanner.over(len(b)) {
		return
	}
	r.turn.Subscriber = s
	r.turn.Part(Data, b)
	r.turn.Subscriber = nil
}

// Message ends the current record of a stream of Messages; the times are those of Feed.
func (r *Reader) Message(s *Subscriber, now, wall int64) {
	r.turn.Subscriber, r.turn.now, r.turn.wall = s, now, wall
	if !s.scanner.over(0) {
		r.turn.Ended(Data)
	}
	s.scanner.some = true
	s.scanner.dispatch(&r.turn)
	r.turn.Subscriber = nil
}

// Reconnect moves s to the start of a new connection. An unfinished record of the old one
// is dropped and counted as cut. The gap continues: for the user the time without a
// connection is time without events.
func (s *Subscriber) Reconnect() {
	if s.scanner.Reset() {
		s.Cut++
	}
	s.forget()
}

// LastID returns the value of Last-Event-ID for a reconnect; if it is empty the field is
// not sent. It is valid until the next Feed of s.
func (s *Subscriber) LastID() []byte { return s.ids[:s.idLen] }

// Last returns the time of the last event, on the clock of Feed's now; false if there was
// none.
func (s *Subscriber) Last() (now int64, ok bool) { return s.last, s.seen }

// Over reports whether the current record already exceeds the limit: it will be counted as
// oversized, if it ever ends.
func (s *Subscriber) Over() bool { return s.scanner.over(0) }

// Retry returns how long the server wants its clients to wait before they reconnect, and
// whether it has set that.
func (s *Subscriber) Retry() (time.Duration, bool) {
	if s.retry == 0 {
		return 0, false
	}
	return time.Duration(s.retry-1) * time.Millisecond, true
}

// Expect tells a subscriber that has had no event yet that all ids above last will be published
// from now on: those that are skipped before the first event count as missed.
func (s *Subscriber) Expect(last uint64) {
	if !s.known {
		s.highest, s.expects = last, true
	}
}

// Behind returns how many of the ids up to last the subscriber has not seen, of those above the
// one that it has had, or Expect named; 0 if there is neither.
func (s *Subscriber) Behind(last uint64) uint64 {
	if !s.known && !s.expects || s.highest >= last {
		return 0
	}
	return last - s.highest
}

// forget resets the state for the next record.
func (s *Subscriber) forget() {
	s.ids = s.ids[:s.idLen]
	s.stamp.reset()
	s.serial.reset()
	s.idMark = s.idLen
	s.data, s.idNew, s.idLong = false, false, false
	s.wait, s.waitAny, s.waitBad = 0, false, false
}

// Part implements Sink.
func (r *turn) Part(f Field, b []byte) {
	switch f {
	case ID:
		r.id(b)
	case Retry:
		r.delay(b)
	}
	if t := &r.stream.stamp; t.field == f {
		t.feed(&r.stamp, b)
	}
	if t := &r.stream.id; t.field == f {
		t.feed(&r.serial, b)
	}
}

// id receives a part of an event's id.
func (r *turn) id(b []byte) {
	if len(r.ids)-int(r.idMark)+len(b) > maxID {
		r.idLong = true
		return
	}
	r.ids = append(r.ids, b...)
}

// Ended implements Sink.
func (r *turn) Ended(f Field) {
	switch f {
	case Data:
		r.data = true
	case ID:
		r.endID()
	case Retry:
		r.endDelay()
	}
	// The end of a field ends the search in it, and completes a number.
	if r.stream.stamp.field == f {
		r.stamp.end()
	}
	if r.stream.id.field == f {
		if r.serial.end(); r.serial.word { // another field of the same name may follow
			r.serial.reset()
		}
	}
}

// endID stores the last id of the event; one with NUL is ignored (HTML, 9.2.6).
func (r *turn) endID() {
	id := r.ids[r.idMark:]
	if bytes.IndexByte(id, 0) < 0 {
		r.ids = append(r.ids[:r.idLen], id...)
		r.idNew = true
	} else {
		r.ids = r.ids[:r.idMark]
	}
	r.idMark = uint16(len(r.ids))
}

// delay receives a part of the time to wait before a reconnect. The maximum is 49 days.
func (r *turn) delay(b []byte) {
	for _, c := range b {
		if c < '0' || c > '9' {
			r.waitBad = true
			return
		}
		r.waitAny = true
		r.wait = uint32(min(uint64(r.wait)*10+uint64(c-'0'), math.MaxUint32-1))
	}
}

// endDelay stores the time if it consists only of digits (HTML, 9.2.6).
func (r *turn) endDelay() {
	if r.waitAny && !r.waitBad {
		r.retry = r.wait + 1
	}
	r.wait, r.waitAny, r.waitBad = 0, false, false
}

// Record implements Sink.
func (r *turn) Record() {
	if r.idLong {
		r.Oversized()
		return
	}
	if r.data {
		r.event()
	}
	r.commit()
}

// Oversized implements Sink. The part before the limit was processed: a reconnect does not
// request this record again, and its id is not missed.
func (r *turn) Oversized() {
	r.Counts.Oversized++
	if r.serial.state == done {
		r.order()
	}
	r.commit()
}

// commit makes the record's id the last one, and resets the state for the next record.
func (r *turn) commit() {
	if r.idNew && !r.idLong {
		r.idLen = uint16(copy(r.ids, r.ids[r.idLen:]))
	}
	r.forget()
}

// Comment implements Sink.
func (r *turn) Comment() { r.Comments++ }

// event counts an event.
func (r *turn) event() {
	r.Events++
	if r.seen {
		r.rec.Gap(time.Duration(r.now - r.last))
	}
	r.seen, r.last = true, r.now
	if at, ok := r.stamp.time(r.stream.unit); ok {
		r.Stamped++
		r.rec.Delay(time.Duration(r.wall - at))
	}
	if _, ok := r.serial.integer(); ok {
		r.Numbered++
	}
	r.order()
}

// order compares the record's id with those before. An id that is not higher than the
// highest one is a duplicate, whether it is a repetition or out of order, and does not
// reduce the number of missed ones.
func (r *turn) order() {
	id, ok := r.serial.integer()
	switch {
	case !ok:
	case !r.known:
		if r.expects && id > r.highest+1 {
			r.Missed += id - r.highest - 1
		}
		r.known, r.highest = true, id // an earlier id was sent before the subscriber joined
	case id > r.highest:
		r.Missed += id - r.highest - 1
		r.highest = id
	default:
		r.Duplicated++
	}
}
