package nethttptest

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A rule is a difference that many trials meet. It makes of net/http's outcome
// what Redline's should be: it never takes anything from Redline's that was not
// understood.
type rule struct {
	reason
	apply func(ref, red *outcome) (applied bool)
}

// rules are applied to every comparison, in this order.
var rules = []*rule{&informational, &refusals, &lengths, &lengths2, &noBodies2, &malformed2, &states2, &logs2, &errors2, &cutsTLS}

// informational answers are not sent where they cannot help.
var informational = rule{
	reason{
		"100 (Continue) and other 1xx only where they help",
		"100 is not sent if content has already arrived (RFC 9110, 10.1.1), and HTTP/1.0 gets no informational answer (15.2).",
	},
	func(ref, red *outcome) (applied bool) {
		for i := range min(len(ref.conns), len(red.conns)) {
			a, b := ref.conns[i].answers, red.conns[i].answers
			var kept []answer
			for j, x := range a {
				bare := x.informational() && (x.status == http.StatusContinue && len(x.fields) == 0 || toOld(a[j:]))
				if bare && (len(kept) >= len(b) || b[len(kept)].line != x.line) {
					applied = true
					continue
				}
				kept = append(kept, x)
			}
			ref.conns[i].answers = kept
		}
		return applied
	},
}

// toOld reports whether the next final answer is to HTTP/1.0.
func toOld(answers []answer) bool {
	i := slices.IndexFunc(answers, func(a answer) bool { return !a.informational() })
	return i >= 0 && strings.HasPrefix(answers[i].line, "HTTP/1.0 ")
}

// refusals answer requests that reach no handler.
var refusals = rule{
	reason{
		"Text of a refusal",
		"A request that is malformed or too large for the server is refused before it reaches the handler. Status and the end " +
			"of the connection are as in net/http; the reason phrase is the standard one, the text names the error, and the answer " +
			"has Date and Content-Length.",
	},
	eachAnswer(func(a, b *answer) bool {
		const plain = "Content-Type: text/plain; charset=utf-8"
		if a.status != b.status || !a.refusal(closing, plain) && !(a.status == 417 && a.refusal(closing, "Content-Length: 0", "Date: now")) ||
			!b.refusal(closing, fmt.Sprintf("Content-Length: %d", len(b.body)), plain, "Date: now") {
			return false
		}
		*a = *b
		return true
	}),
}

// refusal reports whether an answer has exactly these fields, and a status of 400
// or more.
func (a *answer) refusal(fields ...string) bool {
	lines := a.dump("")
	return a.status >= 400 && a.whole && len(a.trailer) == 0 && len(lines) == 1+len(fields)+min(len(a.body), 1) &&
		slices.EqualFunc(lines[1:1+len(fields)], fields, func(line, field string) bool { return line == ": "+field })
}

// lengths are announced for longer bodies.
var lengths = rule{
	reason{
		"Content-Length up to 16 KiB",
		"A body that the handler wrote without Content-Length or Flush is sent with a length, and HEAD answered with it, when it is " +
			"complete within 16 KiB. net/http's buffer is 2 KiB: what is longer is chunked.",
	},
	eachAnswer(func(a, b *answer) bool {
		at := slices.Index(a.fields, "Transfer-Encoding: chunked")
		length, err := strconv.Atoi(b.get("Content-Length"))
		small := length <= 2<<10 && !a.toEOF && (!a.toHEAD || a.get("Trailer") == "") // net/http has a length itself
		switch {
		case err != nil || small || length > 16<<10 || !a.whole || a.get("Content-Length") != "" || len(a.trailer) > 0:
			return false
		case at >= 0 && len(a.body) == length:
			a.fields = slices.Delete(slices.Clone(a.fields), at, at+1)
		case a.toEOF && len(a.body) == length: // to HTTP/1.0
		case at >= 0 || len(a.body) > 0 || !a.toHEAD || !b.toHEAD:
			return false
		}
		a.fields = append(slices.Clip(a.fields), fmt.Sprintf("Content-Length: %d", length))
		return true
	}),
}

// lengths2 is lengths over HTTP/2.
var lengths2 = rule{
	reason{
		"HTTP/2: Content-Length up to 16 KiB",
		"As over HTTP/1. net/http's buffer is 4 KiB here, and longer bodies have no length.",
	},
	func(ref, red *outcome) (applied bool) {
		for i := range min(len(ref.conns), len(red.conns)) {
			a, b := ref.conns[i].answers, red.conns[i].answers
			for j := range min(len(a), len(b)) {
				length, err := strconv.Atoi(b[j].get("Content-Length"))
				if !ref.conns[i].http2 || err != nil || length <= 4<<10 || length > 16<<10 || a[j].get("Content-Length") != "" ||
					!a[j].whole || a[j].reset != "" || len(a[j].trailer) > 0 || len(a[j].body) != length && len(a[j].body)+len(b[j].body) > 0 {
					continue
				}
				a[j].fields = append(slices.Clip(a[j].fields), fmt.Sprintf("Content-Length: %d", length))
				applied = true
			}
		}
		return applied
	},
}

// eachAnswer is a rule about answers that both have.
func eachAnswer(f func(a, b *answer) bool) func(ref, red *outcome) bool {
	return func(ref, red *outcome) (applied bool) {
		for i := range min(len(ref.conns), len(red.conns)) {
			for j := range min(len(ref.conns[i].answers), len(red.conns[i].answers)) {
				if f(&ref.conns[i].answers[j], &red.conns[i].answers[j]) {
					applied = true
				}
			}
		}
		return applied
	}
}

// compare returns in what Redline's outcome differs, and which rules were needed.
func compare(ref, red *outcome, more ...*rule) (differences string, applied []*rule) {
	for _, r := range slices.Concat(rules, more) {
		if r.apply(ref, red) {
			applied = append(applied, r)
		}
	}
	return caller.ReplaceAllString(diff(ref.dump(), red.dump()), "CALLER"), applied
}

// caller is where in the suite a handler did what a server logs: another place after
// every change.
var caller = regexp.MustCompile(`github\.com/\S+/nethttptest\.\S+ \(\w+\.go:\d+\)`)

// indent makes a difference readable among the lines of a test.
func indent(s string) string {
	return "\t" + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n\t")
}
