package exchange

import "sync/atomic"

// A Prebuilt is a response that is the same each time. It must not change once it
// has been sent.
type Prebuilt struct {
	Status int
	Lines  []Line // valid ones
	Body   []byte // nil for a status that has none

	forms [2]atomic.Pointer[[]byte]
}

// A Form is the encoding of a whole message in one protocol.
type Form int

// The forms.
const (
	FormHTTP1 Form = iota
	FormHTTP2
)

// Encoded returns the response in a form. encode creates it when it is first needed.
func (p *Prebuilt) Encoded(f Form, encode func(*Prebuilt) []byte) []byte {
	if b := p.forms[f].Load(); b != nil {
		return *b
	}
	b := encode(p)
	p.forms[f].Store(&b)
	return b
}
