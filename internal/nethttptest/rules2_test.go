package nethttptest

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// noBodies2 is about requests of HTTP/2 without content.
var noBodies2 = rule{
	reason{
		"HTTP/2: http.NoBody",
		"A request without content has http.NoBody as its Body, as over HTTP/1. net/http has an empty reader of its own there.",
	},
	eachSeen(func(a, b string) bool { return a == "no body false" && b == "no body true" }),
}

// malformed2 are requests that violate RFC 9113, 8.
var malformed2 = rule{
	reason{
		"HTTP/2: answers to malformed requests",
		"Where net/http only resets the stream, status 400 comes before the reset (RFC 9113, 8.1.1): Go's client repeats a request " +
			"whose stream was reset with PROTOCOL_ERROR and that has no answer.",
	},
	func(ref, red *outcome) (applied bool) {
		for i := range min(len(ref.conns), len(red.conns)) {
			a, b := ref.conns[i].answers, red.conns[i].answers
			for j := range min(len(a), len(b)) {
				const code = "PROTOCOL_ERROR"
				if a[j].reset == code && a[j].status == 0 && b[j].reset == code && b[j].status == http.StatusBadRequest && len(b[j].body) == 0 {
					a[j], applied = b[j], true
				}
			}
		}
		return applied
	},
}

// errors2 are of streams that have ended, over HTTP/2.
var errors2 = rule{
	reason{
		"HTTP/2: errors of streams that have ended",
		"Reading returns io.ErrUnexpectedEOF, or http.ErrBodyReadAfterClose when the handler has closed the content, and writing the same error as over HTTP/1. net/http has errors that " +
			"programs can tell apart only by their text.",
	},
	eachSeen(func(a, b string) bool {
		what, text, ok := strings.Cut(a, "error: ")
		return ok && gone2.MatchString(text) && (b == what+"io.ErrUnexpectedEOF" || b == what+"http.ErrBodyReadAfterClose" || b == what+"error: http: the client has closed the connection")
	}),
}

var gone2 = regexp.MustCompile(`^(http2: stream closed|client disconnected|stream error: .*|request declared a Content-Length of .*|sender tried to send .*|body closed by handler)$`)

// eachSeen is a rule about lines of what handlers saw over HTTP/2.
func eachSeen(f func(a, b string) bool) func(ref, red *outcome) bool {
	return func(ref, red *outcome) (applied bool) {
		if len(ref.conns) == 0 || !ref.conns[0].http2 || len(ref.seen) != len(red.seen) {
			return false
		}
		ref.seen = slices.Clone(ref.seen)
		for i, a := range ref.seen {
			if f(a, red.seen[i]) {
				ref.seen[i], applied = red.seen[i], true
			}
		}
		return applied
	}
}

// logs2 are lines of the log of HTTP/2.
var logs2 = rule{
	reason{
		"HTTP/2: ErrorLog",
		"The log has the same lines as over HTTP/1, for panics and for handlers that call WriteHeader twice or announce an " +
			"impossible length. net/http logs panics with a prefix of their own, the others not at all, and faults of clients, " +
			"which Redline only counts.",
	},
	func(ref, red *outcome) (applied bool) {
		if len(ref.conns) == 0 || !ref.conns[0].http2 {
			return false
		}
		var kept []string
		for _, l := range red.log {
			if asOver1.MatchString(l) {
				kept = append(kept, l)
			}
		}
		for _, l := range ref.log {
			text, panicked := strings.CutPrefix(l, "http2: panic serving ")
			if panicked {
				kept = append(kept, "http: panic serving "+text)
			} else if !ofClients.MatchString(l) {
				kept = append(kept, l)
			}
		}
		applied = !slices.Equal(ref.log, kept)
		ref.log = kept
		return applied
	},
}

// Lines that only Redline logs over HTTP/2, and lines that only net/http does.
var (
	asOver1   = regexp.MustCompile(`^http: (superfluous|invalid Content-Length)`)
	ofClients = regexp.MustCompile(`^(http2: server connection error from|http2: received GOAWAY|ignoring invalid trailer) `)
)

// states2 are the states of connections that speak HTTP/2.
var states2 = rule{
	reason{
		"HTTP/2: ConnState",
		"A connection is active while it has streams, and idle otherwise. net/http reports active and idle once more when it " +
			"begins.",
	},
	func(ref, red *outcome) (applied bool) {
		for i := range min(len(ref.conns), len(red.conns)) {
			a, b := &ref.conns[i], &red.conns[i]
			if a.http2 && !slices.Equal(a.states, b.states) && regular(&outcome{conns: []connOutcome{*b}}) {
				a.states, applied = b.states, true
			}
		}
		return applied
	},
}

// alternating is how a connection's states follow each other.
var alternating = regexp.MustCompile(`^new( active idle)*( active)? closed$`)

// regular reports whether the states of all connections make sense.
func regular(o *outcome) bool {
	for _, k := range o.conns {
		var states []string
		for _, s := range k.states {
			states = append(states, s.String())
		}
		if !alternating.MatchString(strings.Join(states, " ")) {
			return false
		}
	}
	return true
}
