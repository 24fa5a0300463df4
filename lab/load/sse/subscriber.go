package sse

import (
	"bytes"
	"fmt"
	"math"
	"time"
)

// Config says what a stream's records are and what is in them.
type Config struct {
	Format Format
	Limit  int    // bytes of a record, values only; 0 takes a mebibyte
	Stamp  Source // the time at which the server sent it
	Unit   Unit   // of Stamp
	ID     Source // an integer that grows by one from record to record
}

const defaultLimit = 1 << 20

// maxID bounds the last event id that a Subscriber stores, in bytes. An event
// with a longer one counts as oversized.
const maxID = 1024

// A Stream is a Config made ready, which all subscribers of a kind share. It
// does not change.
type Stream struct {
	scanner Scanner // at its beginning
	extra   string  // name of the field Extra, or empty
	unit    Unit
	stamp   target
	id      target
}

// target is a Source made ready.
type target struct {
	field Field // unknown: nowhere
	path  []string
}

// NewStream makes a Config ready.
func NewStream(c Config) (*Stream, error) {
	if c.Limit < 0 || c.Limit > math.MaxInt32 {
		return nil, fmt.Errorf("sse: limit of a record is %d bytes: write 1 to %d", c.Limit, math.MaxInt32)
	}
	if c.Limit == 0 {
		c.Limit = defaultLimit
	}
	s := &Stream{scanner: NewScanner(c.Format, uint32(c.Limit)), unit: c.Unit}
	var err error
	if s.stamp, err = s.target(c.Format, c.Stamp); err != nil {
		return nil, err
	}
	if s.id, err = s.target(c.Format, c.ID); err != nil {
		return nil, err
	}
	return s, nil
}

// target finds the field of a Source. There can be one field of an own name.
func (s *Stream) target(f Format, from Source) (target, error) {
	if from.Field == "" {
		return target{field: unknown}, nil
	}
	for field, name := range fieldNames {
		if from.Field == name && (f == Events || Field(field) == Data) {
			return target{Field(field), from.Path}, nil
		}
	}
	if f != Events {
		return target{}, fmt.Errorf("sse: field %q: a record has fields in server-sent events only; write @data or a key", from.Field)
	}
	if s.extra != "" && s.extra != from.Field {
		return target{}, fmt.Errorf("sse: fields %q and %q: one of them has to be data, event, id or retry", s.extra, from.Field)
	}
	s.extra = from.Field
	return target{Extra, from.Path}, nil
}

// A Recorder takes what was measured.
type Recorder interface {
	// Gap is the time between two events of one subscriber. Events that one read
	// brought have none between them.
	Gap(time.Duration)
	// Delay is the time from a server's stamp to the read that completed the event.
	// It is negative when the clocks differ by more.
	Delay(time.Duration)
}

// Counts are what a subscriber came to. They only grow.
type Counts struct {
	Events     uint64 // complete records, of server-sent events those with data
	Bytes      uint64 // of the stream
	Missed     uint64 // ids left out between two that came
	Duplicated uint64 // ids that were not above the highest before
	Oversized  uint32 // records over the limit
	Cut        uint32 // records that a connection's end cut short
	Comments   uint32 // lines of server-sent events that keep a connection alive
}

// A Subscriber keeps the books of one stream across its connections. It is
// owned by one goroutine, and must not be copied once it was fed.
type Subscriber struct {
	Counts
	retry   uint32 // milliseconds, plus one; 0: not said
	wait    uint32 // the same, as it is being read
	stream  *Stream
	last    int64  // time of the last event, nanoseconds of the monotonic clock
	highest uint64 // id
	scanner Scanner
	stamp   finder
	serial  finder
	// ids[:idLen] is the last event id; what follows is that of the present event.
	ids     []byte
	idLen   uint16
	idMark  uint16 // where the id that is being read begins
	idNew   bool   // the present event has one
	idLong  bool   // it is too long
	waitAny bool   // it has digits
	waitBad bool   // it is not a number
	data    bool   // the present event has a field of data
	seen    bool   // there was an event: last is valid
	known   bool   // highest is valid
}

// Init makes s a subscriber at the beginning of its first connection.
func (s *Subscriber) Init(stream *Stream) {
	*s = Subscriber{stream: stream, scanner: stream.scanner}
}

// A Reader feeds subscribers, of which there can be many. It is owned by one
// goroutine.
type Reader struct{ turn turn }

// NewReader returns a Reader whose subscribers' measurements go to rec.
func NewReader(rec Recorder) *Reader { return &Reader{turn{rec: rec}} }

// turn is a Subscriber while it is being fed. It is part of the Reader since it
// would be allocated for each read otherwise.
type turn struct {
	*Subscriber
	now  int64
	wall int64
	rec  Recorder
	Seen
}

// Seen is how many events had what a Config looks for in them. It only grows.
type Seen struct {
	Stamped  uint64 // events with a time
	Numbered uint64 // events with an id that is an integer
}

// Seen is that of all subscribers that r fed.
func (r *Reader) Seen() Seen { return r.turn.Seen }

// Feed takes bytes of a subscriber's stream, split anywhere, with the time of
// the read: now on a monotonic clock for gaps, and wall since 1970 for delays,
// both in nanoseconds. After an error, which is ErrFraming, the connection is of
// no more use. Feed does not allocate, but for an id longer than any before.
func (r *Reader) Feed(s *Subscriber, b []byte, now, wall int64) error {
	s.Bytes += uint64(len(b))
	r.turn.Subscriber, r.turn.now, r.turn.wall = s, now, wall
	err := s.scanner.Feed(b, s.stream.extra, &r.turn)
	r.turn.Subscriber = nil
	return err
}

// Reconnect puts s at the beginning of a new connection. What the old one left
// unfinished is forgotten and counted as cut. The gap goes on: to the user the
// time without a connection is time without events.
func (s *Subscriber) Reconnect() {
	if s.scanner.Reset() {
		s.Cut++
	}
	s.forget()
}

// LastID is what a reconnect sends as Last-Event-ID, nothing if it is empty. It
// is valid until the next Feed of s.
func (s *Subscriber) LastID() []byte { return s.ids[:s.idLen] }

// Last is the time of the last event, on the clock of Feed's now; false if there was
// none.
func (s *Subscriber) Last() (now int64, ok bool) { return s.last, s.seen }

// Over reports whether the present record is over the limit already: it will be
// counted as oversized, if it ever ends.
func (s *Subscriber) Over() bool { return s.scanner.over(0) }

// Retry is how long the server wants its clients to wait before they reconnect,
// and whether it has said so.
func (s *Subscriber) Retry() (time.Duration, bool) {
	if s.retry == 0 {
		return 0, false
	}
	return time.Duration(s.retry-1) * time.Millisecond, true
}

// forget makes the way free for the next record.
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
		r.stamp.feed(b, t.path)
	}
	if t := &r.stream.id; t.field == f {
		r.serial.feed(b, t.path)
	}
}

// id takes a part of an event's id.
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
	// What ends with its field is found or is not there. A number at a field's end
	// is complete.
	if r.stream.stamp.field == f {
		r.stamp.end()
	}
	if r.stream.id.field == f {
		if r.serial.end(); r.serial.word { // a field of the same name may follow
			r.serial.reset()
		}
	}
}

// endID keeps the last id of the event; one with NUL is ignored (HTML, 9.2.6).
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

// delay takes a part of the time to wait before a reconnect. The longest that is
// kept is 49 days.
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

// endDelay keeps the time if it consists of digits alone (HTML, 9.2.6).
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

// Oversized implements Sink. What came before the limit was reached is known: a
// reconnect does not ask for this record again, and its id is not missed.
func (r *turn) Oversized() {
	r.Counts.Oversized++
	if r.serial.state == done {
		r.order()
	}
	r.commit()
}

// commit makes the record's id the last one, and the way free for the next.
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

// order holds the record's id against those before. One that is not above the
// highest is a duplicate, whether it is a repetition or out of order, and does
// not make up for the one that was missed.
func (r *turn) order() {
	id, ok := r.serial.integer()
	switch {
	case !ok:
	case !r.known:
		r.known, r.highest = true, id
	case id > r.highest:
		r.Missed += id - r.highest - 1
		r.highest = id
	default:
		r.Duplicated++
	}
}
