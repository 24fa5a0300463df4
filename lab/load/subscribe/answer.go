package subscribe

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/load/h1"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/sse"
)

// read handles bytes from a subscriber's connection, and reports whether the connection
// stays open.
func (b *book) read(i int32, in []byte, now, wall int64) bool {
	s := b.hear(i, now, wall)
	before := s.sse.Counts
	v := h1.More
	if b.sockets == nil || s.phase != standing {
		var n int
		if n, v = s.parser.Feed(in); b.sockets != nil && s.phase == standing {
			v = h1.More
			b.greet(i)
		}
		in = in[n:]
	}
	if b.sockets != nil && s.phase == standing {
		b.frames(i, in)
	}
	b.grow(s, &before)
	switch {
	case !b.stays(i):
	case v == h1.More:
		return true
	case v == h1.Malformed:
		b.lost(i, Malformed, now)
	case v == h1.BadChunk:
		b.lost(i, Chunk, now)
	case v == h1.TooLong:
		b.lost(i, Header, now)
	default:
		b.ended(i, now)
	}
	return false
}

// headed handles the head of an answer over HTTP/2; fields are formatted as lines.
func (b *book) headed(i int32, status int, fields []byte, now, wall int64) {
	b.hear(i, now, wall)
	b.Head(status, fields)
	b.stays(i)
}

// content handles a piece of the content of an answer over HTTP/2.
func (b *book) content(i int32, in []byte, now, wall int64) {
	s := b.hear(i, now, wall)
	before := s.sse.Counts
	b.Content(in)
	b.grow(s, &before)
	b.stays(i)
}

// hear makes a subscriber that received input the current one.
func (b *book) hear(i int32, now, wall int64) *subscriber {
	s := &b.subs[i]
	b.turn, b.now, b.wall, b.refused, b.broken, b.closing = s, now, wall, false, false, false
	s.heard = now
	return s
}

// stays ends the connection if the input was invalid, and reports whether it stays open.
func (b *book) stays(i int32) bool {
	switch {
	case b.refused && b.why == numKinds:
		b.retire(i)
	case b.refused:
		b.lost(i, b.why, b.now)
	case b.broken:
		b.lost(i, Framing, b.now)
	case b.closing:
		b.ended(i, b.now)
	default:
		return true
	}
	return false
}

// grow adds the increase of a subscriber's counts.
func (b *book) grow(s *subscriber, from *sse.Counts) {
	to := &s.sse.Counts
	if s.slow {
		b.Slow.Events += to.Events - from.Events
		b.Slow.Missed += to.Missed - from.Missed
		b.Slow.Duplicated += to.Duplicated - from.Duplicated
		return
	}
	b.Counts.Events += to.Events - from.Events
	b.Missed += to.Missed - from.Missed
	b.Duplicated += to.Duplicated - from.Duplicated
	b.Oversized += uint64(to.Oversized - from.Oversized)
	b.Cut += uint64(to.Cut - from.Cut)
	b.Comments += uint64(to.Comments - from.Comments)
}

// Head implements h1.Sink: it decides whether the answer is valid.
func (b *book) Head(status int, head []byte) {
	b.refused, b.why = true, Status
	switch {
	case status == 204:
		b.why = numKinds
		return
	case status >= 300 && status < 400 && status != 304:
		b.why = Redirect
		if to, ok := h1.Field(head, "location"); ok {
			b.detail = fmt.Sprintf("status %d to %.200s", status, to)
		}
		return
	case b.sockets != nil && status == 101:
		b.upgrade(head)
		return
	case status != 200 || b.sockets != nil:
		b.detail = fmt.Sprintf("status %d", status)
		return
	}
	if coding, ok := h1.Field(head, "content-encoding"); ok && !bytes.EqualFold(coding, []byte("identity")) {
		b.why, b.detail = Coding, fmt.Sprintf("%.80s", coding)
		return
	}
	if kind, _ := h1.Field(head, "content-type"); b.config.Format == spec.FormatEvents && !IsEvents(string(kind)) {
		b.why, b.detail = Media, fmt.Sprintf("%.80s", kind)
		return
	}
	b.refused = false
	b.stands()
}

// IsEvents reports whether a media type, with any parameters, is that of server-sent
// events.
func IsEvents(kind string) bool {
	kind, _, _ = strings.Cut(kind, ";")
	return strings.EqualFold(strings.TrimRight(kind, " \t"), "text/event-stream")
}

// stands makes the current subscriber standing.
func (b *book) stands() {
	s := b.turn
	s.phase = standing
	b.asking--
	b.standing++
	b.alive = b.now
	switch {
	case s.anew:
		s.anew = false
		b.Joined++
	case s.stood:
		b.Reconnects++
	default:
		s.stood = true
		b.stood++
	}
	i := b.index(s)
	if b.published != nil {
		s.sse.Expect(b.published[b.topic(i)])
	}
	b.armStall(i, s)
}

// Content implements h1.Sink.
func (b *book) Content(in []byte) {
	if b.refused || b.broken {
		return
	}
	// The only possible error is sse.ErrFraming.
	b.broken = b.reader.Feed(&b.turn.sse, in, b.now, b.wall) != nil
	b.Seen = b.reader.Seen()
}

// Gap implements sse.Recorder.
func (b *book) Gap(d time.Duration) {
	if !b.turn.slow {
		b.rec.Gap(d)
	}
}

// Delay implements sse.Recorder.
func (b *book) Delay(d time.Duration) {
	if b.turn.slow {
		return
	}
	if d < 0 {
		b.Negative++
	}
	b.rec.Delay(d)
}
