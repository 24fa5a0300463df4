package nethttptest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// An outcome is all that came of a run.
type outcome struct {
	conns     []connOutcome
	seen, log []string
	calls     int    // of the handler, without probes
	failed    string // why it says nothing
	timed     bool   // it depends on a short timeout
	slow      bool   // clients took longer than servers wait for them
}

// A connOutcome is what came of one connection.
type connOutcome struct {
	answers []answer
	rest    string
	fate    string
	states  []http.ConnState
	notes   []string // other frames
	http2   bool
}

// dump writes an outcome as the lines that are compared.
func (o *outcome) dump() (lines []string) {
	if o.failed != "" {
		lines = append(lines, "failed: "+o.failed)
	}
	for i := range o.conns {
		prefix := ""
		if len(o.conns) > 1 {
			prefix = fmt.Sprintf("connection %d ", i+1)
		}
		k := &o.conns[i]
		for j := range k.answers {
			lines = append(lines, k.answers[j].dump(fmt.Sprintf("%sanswer %d", prefix, j+1))...)
		}
		if k.rest != "" {
			lines = append(lines, prefix+"rest: "+brief([]byte(k.rest)))
		}
		for _, n := range k.notes {
			lines = append(lines, prefix+n)
		}
		lines = append(lines, prefix+"fate: "+k.fate)
		states := make([]string, len(k.states))
		for j, s := range k.states {
			states[j] = s.String()
		}
		lines = append(lines, prefix+"state: "+strings.Join(states, " "))
	}
	for _, l := range o.seen {
		lines = append(lines, "seen: "+l)
	}
	for _, l := range o.log {
		lines = append(lines, "log: "+l)
	}
	return lines
}

// diff returns the lines that only one side has, in order, marked - and +.
func diff(a, b []string) string {
	// common[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out strings.Builder
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			fmt.Fprintf(&out, "-%s\n", a[i])
			i++
		default:
			fmt.Fprintf(&out, "+%s\n", b[j])
			j++
		}
	}
	return out.String()
}

// clone returns a copy that rules may change.
func (o *outcome) clone() *outcome {
	c := *o
	c.conns = slices.Clone(c.conns)
	for i := range c.conns {
		c.conns[i].answers = slices.Clone(c.conns[i].answers)
	}
	return &c
}
