package mercure

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/format"
)

// An Update is the message of a new version of a topic (Publication).
type Update struct {
	// Topics are the canonical topic, and alternates. At least one, at most 100.
	Topics []string
	Data   string
	// Private: only subscribers whose token has a selector for one of the topics get it.
	Private bool
	// ID is the update's ID. Empty, or one that the hub holds or remembers already: the endpoint
	// makes one of the form urn:uuid.
	ID    string
	Type  string        // of the event; may be empty
	Retry time.Duration // after which time clients connect again; 0: not sent
}

// ErrBadUpdate: a field is not as the specification wants it.
var ErrBadUpdate = errors.New("mercure: bad update")

func (u *Update) check() error {
	bad := func(text string) error { return fmt.Errorf("%w: %s", ErrBadUpdate, text) }
	lines := func(s string) bool { return strings.ContainsAny(s, "\r\n\x00") }
	switch {
	case len(u.Topics) == 0:
		return bad("name at least one topic")
	case len(u.Topics) > maxTopics:
		return bad("it has more than 100 topics")
	case strings.HasPrefix(u.ID, "#"):
		return bad("the ID begins with #, which is reserved")
	case len(u.ID) > 255 || lines(u.ID):
		return bad("the ID has more than 255 bytes, or a line break")
	case len(u.Type) > 255 || lines(u.Type):
		return bad("the type has more than 255 bytes, or a line break")
	case u.Retry < 0 || u.Retry > 24*time.Hour:
		return bad("the time to retry is negative, or more than a day")
	}
	for _, t := range u.Topics {
		if err := checkTopic(t); err != nil {
			return bad(err.Error())
		}
	}
	return nil
}

// Publish dispatches an update, and returns its ID. It never waits for a subscriber. Errors
// wrap [ErrBadUpdate], [push.ErrTooLarge] and those of push.Hub.Publish.
func (e *Endpoint) Publish(ctx context.Context, u Update) (id string, err error) {
	if err := u.check(); err != nil {
		return "", err
	}
	if len(u.Data) > e.o.MaxData {
		return "", push.ErrTooLarge
	}
	return e.publish(ctx, u)
}

// publish dispatches an update that was checked. No other one comes between its copies: a subscriber
// that resumes after its ID gets what it got after it, whichever copy that was. Nothing waits while the lock
// is held: the hub has no broker (New).
func (e *Endpoint) publish(ctx context.Context, u Update) (id string, err error) {
	if u.ID == "" {
		u.ID = newID()
	}
	e.order.Lock()
	defer e.order.Unlock()
	// The first event has the ID: the history knows where to resume.
	first := func() (push.Receipt, error) {
		return e.hub.Publish(ctx, push.Event{Topic: hubTopic(u.Topics[0], u.Private), ID: u.ID, Data: u.encode(0)})
	}
	r, err := first()
	if err == nil && r.Duplicate || errors.Is(err, push.ErrBadEvent) {
		u.ID = newID() // the given one is in use, or no ID for the hub
		_, err = first()
	}
	if err != nil {
		return "", err
	}
	if len(u.Topics) > 1 {
		err = e.alternates(ctx, &u)
	}
	if err != nil {
		return "", err
	}
	e.last.Store(&u.ID)
	return u.ID, nil
}

// alternates publishes an update under its other topics.
func (e *Endpoint) alternates(ctx context.Context, u *Update) error {
	number, named := e.bodies.keep(&body{u.ID, u.Private, slices.Clone(u.Topics), u.text()})
	for at := 1; at < len(u.Topics); at++ {
		event := push.Event{Topic: hubTopic(u.Topics[at], u.Private)}
		if event.Data = name(number, at, u.ID); !named {
			event.Data = u.encode(at)
		}
		if _, err := e.hub.Publish(ctx, event); err != nil {
			return err
		}
	}
	return nil
}

// encode returns an update under one of its topics: as the data of the hub's event, which
// decode reads.
func (u *Update) encode(at int) []byte {
	b := []byte{copyPublic}
	if u.Private {
		b[0] = copyPrivate
	}
	b = appendText(b, u.ID)
	b = binary.AppendUvarint(b, uint64(at+1))
	for _, t := range u.Topics[:at+1] {
		b = appendText(b, t)
	}
	b = binary.AppendUvarint(b, uint64(len(u.Topics)-at-1))
	for _, t := range u.Topics[at+1:] {
		b = appendText(b, t)
	}
	return append(b, u.text()...)
}

// text returns what subscribers get of an update.
func (u *Update) text() []byte {
	b := append(append([]byte("id: "), u.ID...), '\n')
	if u.Type != "" {
		b = append(append(append(b, "event: "...), u.Type...), '\n')
	}
	if u.Retry > 0 {
		b = append(strconv.AppendInt(append(b, "retry: "...), u.Retry.Milliseconds(), 10), '\n')
	}
	for line := range strings.SplitSeq(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(u.Data), "\n") {
		b = append(append(append(b, "data: "...), line...), '\n')
	}
	return append(b, '\n')
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// A copied update is one of those that encode made.
type copied struct {
	private bool
	id      string
	before  []string // topics whose copies came before
	topic   string
	after   []string
	text    []byte // the event
}

var errCopy = errors.New("mercure: not an update of this endpoint")

// decode is the reverse of encode.
func decode(b []byte) (c copied, err error) {
	if len(b) == 0 {
		return c, errCopy
	}
	c.private, b = b[0] == copyPrivate, b[1:]
	number := func() (n int) {
		v, size := binary.Uvarint(b)
		if size <= 0 || v > uint64(len(b)) {
			err = errCopy
			return 0
		}
		b = b[size:]
		return int(v)
	}
	text := func() (s string) {
		n := number()
		if n > len(b) {
			err = errCopy
			return ""
		}
		s, b = string(b[:n]), b[n:]
		return s
	}
	texts := func() (all []string) {
		for range number() {
			if all = append(all, text()); err != nil {
				return nil
			}
		}
		return all
	}
	c.id = text()
	if c.before = texts(); len(c.before) == 0 {
		return c, errCopy
	}
	end := len(c.before) - 1
	c.before, c.topic = c.before[:end], c.before[end]
	c.after, c.text = texts(), b
	return c, err
}

// newID returns a random ID (RFC 9562, 5.4).
func newID() string {
	var u [16]byte
	_, _ = rand.Read(u[:]) // which never fails
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// What a message of the stream begins with, for the subscriber's response, which removes it.
const (
	kindUpdate = 'u' // and the data of the event
	kindGap    = 'g' // and the text
	kindOther  = 'o' // and the text
)

// stream is the format between the hub and the responses of subscribers.
type stream struct{}

func (stream) Name() string      { return "mercure" }
func (stream) MediaType() string { return "text/event-stream" }

func (stream) AppendStart(b []byte, retry time.Duration, position string) []byte {
	b = append(b, kindOther)
	if position != "" {
		b = append(append(append(b, "id: "...), position...), '\n')
	}
	return appendRetry(b, retry)
}

func (stream) AppendEvent(b []byte, e *format.Event) []byte {
	return append(append(b, kindUpdate), e.Data...)
}

// AppendGap moves the client on, and says why in a comment, which clients ignore.
func (stream) AppendGap(b []byte, g *format.Gap) []byte {
	b = append(append(append(b, kindGap, ':', ' '), "gap: "...), g.Reason...)
	if g.ID != "" {
		b = append(append(b, "\nid: "...), g.ID...)
	}
	return append(b, "\n\n"...)
}

func (stream) AppendBye(b []byte, y *format.Bye) []byte {
	return appendRetry(append(b, kindOther), y.Retry)
}

func (stream) AppendBeat(b []byte) []byte { return append(b, kindOther, ':', '\n', '\n') }

func appendRetry(b []byte, d time.Duration) []byte {
	b = strconv.AppendInt(append(b, "retry: "...), d.Milliseconds(), 10)
	return append(b, "\n\n"...)
}
