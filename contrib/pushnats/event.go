package pushnats

import (
	"errors"
	"net/textproto"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/nats-io/nats.go"

	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/format"
)

// Headers of a message. An ID, type or key is escaped, because a header's value loses the
// spaces at its ends.
const (
	headerID   = nats.MsgIdHdr
	headerType = "Redline-Type"
	headerKey  = "Redline-Key"
	headerTime = "Redline-Time" // RFC 3339
)

// encode returns the message of an event, which refers to its data.
func encode(prefix string, e *push.Event) *nats.Msg {
	m := &nats.Msg{Subject: subject(prefix, e.Topic), Data: e.Data, Header: make(nats.Header, 4)}
	for _, f := range [...]struct{ name, value string }{
		{headerID, escape(e.ID)}, {headerType, escape(e.Type)}, {headerKey, escape(e.Key)},
	} {
		if f.value != "" {
			m.Header[f.name] = []string{f.value}
		}
	}
	if !e.Time.IsZero() {
		m.Header[headerTime] = []string{e.Time.UTC().Format(time.RFC3339Nano)}
	}
	return m
}

var (
	errField    = errors.New("a field is longer than 255 bytes, or has control characters")
	errReserved = errors.New("the type is reserved")
)

// decode is the reverse of encode. Another client of NATS may have published the message:
// the error says why it is no event.
func decode(prefix, subj string, h nats.Header, data []byte, stored time.Time) (e push.Event, err error) {
	if e.Topic, err = topicOf(prefix, subj); err != nil {
		return e, err
	}
	e.Data, e.Time = data, stored
	for _, f := range [...]struct {
		name string
		to   *string
	}{{headerID, &e.ID}, {headerType, &e.Type}, {headerKey, &e.Key}} {
		text := first(h, f.name)
		if plain, ok := unescape(text); ok {
			text = plain
		}
		if len(text) > 255 || !utf8.ValidString(text) || strings.IndexFunc(text, control) >= 0 {
			return e, errField
		}
		*f.to = text
	}
	if strings.HasPrefix(e.Type, format.ReservedPrefix) && !push.IsNotice(&e) {
		return e, errReserved
	}
	if t, err := time.Parse(time.RFC3339Nano, first(h, headerTime)); err == nil {
		e.Time = t
	}
	return e, nil
}

func control(r rune) bool { return unicode.IsControl(r) || r == 0x2028 || r == 0x2029 }

// first returns a header's value, whatever its case.
func first(h nats.Header, name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	for k, v := range h {
		if len(v) > 0 && textproto.CanonicalMIMEHeaderKey(k) == name {
			return v[0]
		}
	}
	return ""
}
