package nethttptest

import (
	"fmt"
	"slices"
	"strings"
)

// A reason is why Redline does something in its own way.
type reason struct{ title, why string }

// A rule is a difference that many trials meet. It makes of net/http's outcome
// what Redline's should be: it never takes anything from Redline's that was not
// understood.
type rule struct {
	reason
	apply func(ref, red *outcome) (applied bool)
}

// rules are applied to every comparison, in this order.
var rules = []*rule{&refusals, &lengths}

// refusals answer requests that reach no handler.
var refusals = rule{
	reason{
		"Words of a refusal",
		"A request that is malformed or too large for the server is refused before it reaches the handler. Status " +
			"and the end of the connection are net/http's; the reason phrase is the standard one, the text names " +
			"what is wrong, and the answer has Date and Content-Length.",
	},
	func(ref, red *outcome) (applied bool) {
		for i := range ref.conns {
			if i == len(red.conns) || len(ref.conns[i].answers) == 0 || len(red.conns[i].answers) == 0 {
				continue
			}
			a := &ref.conns[i].answers[len(ref.conns[i].answers)-1]
			b := &red.conns[i].answers[len(red.conns[i].answers)-1]
			if a.status == b.status && a.refusal("Connection: close", "Content-Type: text/plain; charset=utf-8") &&
				b.refusal("Connection: close", fmt.Sprintf("Content-Length: %d", len(b.body)), "Content-Type: text/plain; charset=utf-8", "Date: now") {
				*a, applied = *b, true
			}
		}
		return applied
	},
}

// refusal reports whether an answer has exactly these fields and a status of 400 or more.
func (a *answer) refusal(fields ...string) bool {
	lines := a.dump("")
	return a.status >= 400 && a.whole && len(a.trailer) == 0 && len(lines) == 1+len(fields)+min(len(a.body), 1) &&
		slices.EqualFunc(lines[1:1+len(fields)], fields, func(line, field string) bool { return line == ": "+field })
}

// lengths are announced for longer bodies.
var lengths = rule{
	reason{
		"Content-Length up to 16 KiB",
		"A body that the handler wrote without Content-Length or Flush is sent with a length when it is complete " +
			"within 16 KiB; net/http's buffer is 2 KiB, and what is longer is chunked.",
	},
	func(ref, red *outcome) (applied bool) {
		for i := range ref.conns {
			for j := range ref.conns[i].answers {
				if i >= len(red.conns) || j >= len(red.conns[i].answers) {
					continue
				}
				a, b := &ref.conns[i].answers[j], &red.conns[i].answers[j]
				length := fmt.Sprintf("Content-Length: %d", len(a.body))
				at := slices.Index(a.fields, "Transfer-Encoding: chunked")
				if at >= 0 && len(a.body) > 2<<10 && len(a.body) <= 16<<10 && len(a.trailer) == 0 && a.whole && slices.Contains(b.fields, length) {
					a.fields, applied = slices.Clone(a.fields), true
					a.fields[at] = length
				}
			}
		}
		return applied
	},
}

// compare returns in what Redline's outcome differs, and which rules were needed.
func compare(ref, red *outcome) (differences string, applied []*rule) {
	for _, r := range rules {
		if r.apply(ref, red) {
			applied = append(applied, r)
		}
	}
	return diff(ref.dump(), red.dump()), applied
}

// indent makes a difference readable among the lines of a test.
func indent(s string) string {
	return "\t" + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n\t")
}
