package output

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/trace"
)

// Time prints nanoseconds.
func Time(ns int64) string { return report.Micros(float64(ns)/1e3, " ") }

// Percentile prints nanoseconds, a dash if there were too few samples.
func Percentile(ns *int64) string {
	if ns == nil {
		return report.Quantile(nil, " ")
	}
	return Time(*ns)
}

// Count prints a number with separators between thousands.
func Count(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Share prints a part of a whole as percent.
func Share(part, whole int64) string {
	if whole <= 0 {
		return report.Quantile(nil, " ")
	}
	return report.Percent(float64(part) / float64(whole))
}

// Title describes a trace in one line.
func Title(r *trace.Report) string {
	return fmt.Sprintf("trace of %s: %s events, %s, Go %s, GOMAXPROCS %d, %s, %s", Time(r.WindowNS), Count(int64(r.Events)), report.Bytes(float64(r.Bytes), " "),
		r.Go, r.Procs, plural(int64(r.Threads), "thread"), plural(int64(r.Goroutines), "goroutine"))
}

// Use describes what the Ps did.
func Use(r *trace.Report) string {
	u := r.Use
	all := u.UserNS + u.GCNS + u.SyscallNS + u.SchedNS + u.IdleNS
	return fmt.Sprintf("running %s, collecting %s, in system calls %s, scheduling %s, idle %s",
		Share(u.UserNS, all), Share(u.GCNS, all), Share(u.SyscallNS, all), Share(u.SchedNS, all), Share(u.IdleNS, all))
}

// GC describes the work of the garbage collector.
func GC(r *trace.Report) string {
	g := &r.GC
	if g.Cycles == 0 && len(g.Pauses) == 0 {
		return "no collection"
	}
	text := fmt.Sprintf("%s, marking %s; workers %s of the Ps", plural(g.Cycles, "cycle"), Time(g.MarkNS), report.Percent(g.WorkerShare))
	if g.Sweep.Count > 0 {
		text += "; sweeping " + Time(g.Sweep.TotalNS)
	}
	if n := g.Assisted.Count; n > 0 {
		text += fmt.Sprintf("; %s of %s, max %s", plural(n, "mark assist"), Time(g.Assisted.TotalNS), Time(g.Assisted.MaxNS))
		if len(g.Assists) > 0 {
			text += ", most in " + report.Line(g.Assists[0].Call)
		}
	}
	for _, p := range g.Pauses {
		text += fmt.Sprintf("; world stopped for %s: %s, max %s", report.Line(p.Kind), plural(p.Count, "time"), Time(p.MaxNS))
	}
	return text
}

// Syscalls describes the system calls.
func Syscalls(r *trace.Report) string {
	h := &r.Handoffs
	if h.Calls == 0 {
		return "none"
	}
	return fmt.Sprintf("%s calls, p50 %s, p99 %s, max %s; Ps taken away in %s, given up in %s; %s waited for a P afterwards",
		Count(h.Calls), Percentile(h.Times.P50NS), Percentile(h.Times.P99NS), Time(h.Times.MaxNS), Count(h.Taken), Count(h.Given), Count(h.Blocked))
}

// Part describes a way in which requests spent time.
func Part(p trace.Part) string {
	text := p.State
	switch p.State {
	case "blocked":
		text = "blocked (" + report.Line(p.Reason) + ")"
	case "runnable":
		text = "runnable, " + p.Reason
	case "syscall":
		text = "system call"
	}
	if p.Call != "" {
		text += " in " + report.Line(p.Call)
	}
	return text
}

// minor is the share below which a part of the time is not worth a mention.
const minor = 0.2

// Reason describes what most of the time of requests went to.
func Reason(spent []trace.Part, hot []trace.Hot) string {
	total := int64(0)
	for _, p := range spent {
		total += p.TotalNS
	}
	var list []string
	for i, p := range spent {
		if i > 0 && float64(p.TotalNS) < minor*float64(total) {
			break
		}
		text := Share(p.TotalNS, total) + " " + Part(p)
		if p.State == "running" && len(hot) > 0 {
			text += ", sampled in " + report.Line(hot[0].Call)
		}
		list = append(list, text)
	}
	return strings.Join(list, "; ")
}

// Bar draws a request as cells of its time.
func Bar(q trace.Request, cells int) string {
	glyphs := map[string]rune{"running": '█', "runnable": '▒', "blocked": '░', "syscall": '▓'}
	out := []rune(strings.Repeat("·", cells))
	most := make([]int64, cells)
	for _, s := range q.Segments {
		first, last := cell(s.AtNS, q.NS, cells), cell(s.AtNS+s.NS-1, q.NS, cells)
		for i := first; i <= last; i++ {
			// A cell shows what most of it is.
			part := min(s.AtNS+s.NS, (int64(i)+1)*q.NS/int64(cells)) - max(s.AtNS, int64(i)*q.NS/int64(cells))
			if part > most[i] {
				most[i], out[i] = part, glyphs[s.State]
			}
		}
	}
	return string(out)
}

func cell(at, all int64, cells int) int {
	return min(max(int(float64(at)/float64(max(all, 1))*float64(cells)), 0), cells-1)
}

func plural(n int64, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return Count(n) + " " + word + "s"
}

// Spent describes where the requests of a group spent their time, and why their handlers have no name.
func Spent(g *trace.Group) string {
	text := Reason(g.Spent, g.Hot)
	if g.Name == trace.NotSeen {
		text += "; " + WhyNotSeen
	}
	return text
}

// WhyNotSeen says why requests have no handler, and what to do.
const WhyNotSeen = "nothing that is in a trace happened in their handlers: --handlers names them from outside, and contrib/control/routes by their routes"
