package nethttptest

import (
	"regexp"
	"slices"
)

// A reason2 is a reason over HTTP/2, with the names of its trials.
type reason2 struct {
	reason
	names *regexp.Regexp
}

// reasonsHTTP2 are those of trials over HTTP/2, in the order of the list. The first whose
// names match a trial is its reason.
var reasonsHTTP2 = []*reason2{
	{reason{
		"HTTP/2: limits with defaults",
		"As over HTTP/1. A header block of more than four times that limit is not decoded, and ends the connection, because the compression state is lost.",
	}, regexp.MustCompile(`^head: (path of 80 KiB|100 KiB|300 KiB|200 fields)$`)},
	{reason{
		"HTTP/2: expectations",
		"Unknown ones get 417, as over HTTP/1 from both. net/http passes them to the handler.",
	}, regexp.MustCompile(`^(head: unknown expectation|expect: something else)$`)},
	{reason{
		"HTTP/2: Host",
		"A Host field that says the same as :authority, or stands for it, is in Request.Host and not in Header, as over HTTP/1. " +
			"net/http leaves it in Header.",
	}, regexp.MustCompile(`^head: Host (equal to|and no) :authority( but for case and port)?$`)},
	{reason{
		"HTTP/2: CONNECT",
		"A successful answer to CONNECT has no Content-Length (RFC 9110, 8.6).",
	}, regexp.MustCompile(`^connect: (with content|to an authority)$`)},
	{reason{
		"HTTP/2: trailers that were not announced",
		"They are in Request.Trailer, as over HTTP/1 with both. net/http drops them.",
	}, regexp.MustCompile(`^(content: trailers, not announced|trailers: not announced)$`)},
	{reason{
		"HTTP/2: malformed requests",
		"What RFC 9113 (8.1.1, 8.2 and 8.3) calls malformed gets 400, and the stream is reset. It does not reach the handler if it is known in " +
			"time. A target or an authority that is not valid in HTTP/1.1 gets 400, as there. net/http accepts some of it, answers " +
			"some with 400, and lets the handler read content that is not what Content-Length says.",
	}, regexp.MustCompile(`^(head: .*|connect: without port|content: (trailers|length|lengths|negative|announced|shorter|longer).*|` +
		`(host|target|request|framing|trailers): .*|fields: that are asked of the connection)$`)},
	{reason{
		"HTTP/2: faults of frames",
		"The connection ends where the fault leaves no doubt that the client is broken, with the code that RFC 9113 names. net/http " +
			"resets only the stream, has another code, or accepts frames of up to 1 MiB.",
	}, regexp.MustCompile(`^(headers|priority|frame|data): `)},
	{reason{
		"HTTP/2: GOAWAY from the client",
		"It is about streams that the server opens, and there are none. net/http begins to end the connection.",
	}, regexp.MustCompile(`^goaway: .*`)},
	{reason{
		"HTTP/2: trailers of responses",
		"A response with trailers has no Content-Length unless the handler sets one. Which fields are trailers is as over HTTP/1.",
	}, regexp.MustCompile(`^trailers out: .*`)},
	{reason{
		"HTTP/2: HEAD",
		"Writes are counted as over HTTP/1. In net/http they fail when its buffer is full.",
	}, regexp.MustCompile(`^(flush: HEAD|length out: HEAD beyond .*)$`)},
	{reason{
		"HTTP/2: Content-Length that is wrong",
		"As over HTTP/1: a write beyond it fails with http.ErrContentLength, one that is no number is left out, and a stream whose " +
			"body is not as long as announced is reset, so that no client takes it for complete. net/http sends what it has.",
	}, regexp.MustCompile(`^(length out: .*|writer: ErrContentLength|flush: with length, .*|read from: a file longer than announced)$`)},
	{reason{
		"HTTP/2: fields of responses",
		"Fields are sent as over HTTP/1: control characters become spaces, and fields about the connection are left out. net/http " +
			"drops fields with such values, and guesses another type beside a Transfer-Encoding.",
	}, regexp.MustCompile(`^(fields out|info|type): .*`)},
	{reason{
		"HTTP/2: responses without body",
		"204, 205 and 304 have no body and no Content-Length but zero, as over HTTP/1.",
	}, regexp.MustCompile(`^status: .*`)},
	{reason{
		"HTTP/2: http.ResponseWriter",
		"It is an io.ReaderFrom, as over HTTP/1, and no http.Pusher: clients have removed server push.",
	}, regexp.MustCompile(`^writer: what it implements$`)},
	{reason{
		"HTTP/2: content after Close",
		"Reading it returns http.ErrBodyReadAfterClose, even if its end was read before, as over HTTP/1.",
	}, regexp.MustCompile(`^body: closed behind its end$`)},
}

// reasonOver2 is the reason for which a trial over HTTP/2 differs, by its name: nil if
// it does not.
func reasonOver2(name string) *reason {
	if !slices.Contains(differingOver2, name) {
		return nil
	}
	i := slices.IndexFunc(reasonsHTTP2, func(r *reason2) bool { return r.names.MatchString(name) })
	if i < 0 {
		return nil
	}
	return &reasonsHTTP2[i].reason
}
