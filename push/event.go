package push

import (
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redline-go/redline/push/format"
	"github.com/redline-go/redline/push/topic"
)

// An Event is what a publisher sends to all subscribers of a topic.
type Event struct {
	// Topic is a name as package topic defines it. Required.
	Topic string
	// ID identifies the event among all of the hub. Without a broker, a second event with an
	// ID that the hub remembers is a duplicate, and is not published: it remembers those of
	// the events that it holds, and of those that it has held until they take an eighth of
	// Options.MaxBytes. It is then also the ID that clients see and resume from; with a
	// broker, or if it is empty, they see the hub's. A broker decides by itself what is a
	// duplicate. At most 255 bytes of UTF-8 without control characters and without spaces at
	// the ends, not of the form of a hub's positions, and not "earliest".
	ID string
	// Type says what the event is, for the client's code. It may be empty. At most 255 bytes
	// without control characters; the prefix "hub:" is reserved.
	Type string
	// Data is the content; Publish copies it. At most Options.MaxEventBytes.
	Data []byte
	// Key identifies what the event is about, under the policy Conflate: of the queued
	// events of a topic with the same key only the last one is delivered. Empty: none. At
	// most 255 bytes.
	Key string
	// Time is when it happened, for the age of the history. Zero: now. One that is too old is
	// held for as long as those of its topic that were published before it.
	Time time.Time
}

// A Receipt says what became of a published event, on this node and at this moment. A
// subscriber counts as delivered when the event is on its way to the kernel: whether the
// client has received it is known to the client alone.
//
// The numbers are exact for subscribers served by net/http. For subscribers on the loops of
// a redline.Server, and with MaxDelay, they are those of the moment before the event is
// handed over. A subscriber several of whose patterns select the topic counts for each of
// them. With a broker they are 0, unless the event was delivered locally (DeliverLocally).
type Receipt struct {
	ID        string // of the event, as clients see it
	Duplicate bool   // an event with this ID was published before; nothing was done
	Delivered int    // subscribers to whom it goes at once
	Queued    int    // subscribers that are behind, and get it later
	Dropped   int    // events, this one or older ones, that subscribers will not get because of it
}

// Errors of [Hub.Publish].
var (
	// ErrClosed: Shutdown or Close was called.
	ErrClosed = errors.New("push: the hub is shut down: publish to another node")
	// ErrTooLarge: Data is longer than MaxEventBytes of Options, or of the topic's rule.
	ErrTooLarge = errors.New("push: event is larger than MaxEventBytes: publish a reference to the data, or raise the limit")
	// ErrBadEvent: a field is too long, or contains characters that it must not contain.
	ErrBadEvent = errors.New("push: bad event")
)

// maxField is the longest ID, Type and Key, in bytes.
const maxField = 255

func (h *Hub) check(e *Event) error {
	if err := topic.CheckName(e.Topic); err != nil {
		return errors.Join(ErrBadEvent, err)
	}
	for _, f := range [...]struct{ name, value string }{{"ID", e.ID}, {"Type", e.Type}, {"Key", e.Key}} {
		switch {
		case len(f.value) > maxField:
			return badEvent(f.name, "is longer than 255 bytes: use a shorter one")
		case !utf8.ValidString(f.value) || strings.IndexFunc(f.value, control) >= 0:
			return badEvent(f.name, "contains a control character, or is not UTF-8: leave it out")
		}
	}
	switch {
	case strings.HasPrefix(e.Type, format.ReservedPrefix):
		return badEvent("Type", "begins with "+format.ReservedPrefix+", which is reserved: use another prefix")
	case strings.TrimSpace(e.ID) != e.ID:
		return badEvent("ID", "begins or ends with a space, which a header cannot carry: trim it")
	case len(e.Data) > h.o.MaxEventBytes || h.o.bounded && len(e.Data) > h.o.rule(e.Topic).MaxEventBytes:
		return ErrTooLarge
	}
	if e.ID == earliest {
		return badEvent("ID", "is what clients ask for who want everything: use another one")
	}
	if _, ours := h.position(e.ID); ours || h.foreign(e.ID) {
		return badEvent("ID", "has the form of a hub's positions: put something before it, or leave it empty")
	}
	return nil
}

func badEvent(field, why string) error {
	return errors.Join(ErrBadEvent, errors.New(field+" "+why))
}

// control reports characters that would end a line of some format, and others that no
// text field needs.
func control(r rune) bool {
	return r < ' ' || 0x7f <= r && r < 0xa0 || r == 0x2028 || r == 0x2029
}

// mayBeID reports whether a text that a client sends can be an ID.
func mayBeID(id string) bool {
	return len(id) <= maxField && strings.IndexFunc(id, control) < 0
}
