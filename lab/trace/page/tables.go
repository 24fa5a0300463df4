package page

import (
	"strings"

	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/web"
	"github.com/redline-go/redline/lab/trace"
	"github.com/redline-go/redline/lab/trace/output"
)

func text(s string) web.Cell { return web.Cell{Text: report.Line(s)} }
func wrap(s string) web.Cell { return web.Cell{Text: report.Line(s), Class: "wrap"} }
func ns(v int64) web.Cell    { return web.Number(float64(v), output.Time(v)) }
func count(v int64) web.Cell { return web.Number(float64(v), output.Count(v)) }

func percentile(v *int64) web.Cell {
	if v == nil {
		return web.Cell{Text: output.Percentile(nil), Number: true}
	}
	return ns(*v)
}

// spread returns the cells of a distribution: count, p50, p99, max, total.
func spread(s trace.Spread) []web.Cell {
	return []web.Cell{count(s.Count), percentile(s.P50NS), percentile(s.P99NS), ns(s.MaxNS), ns(s.TotalNS)}
}

// groups returns the table of the requests.
func groups(r *trace.Report) []web.Table {
	t := web.Table{Caption: "Requests by kind and name", Heads: web.Heads("kind", "name", "count#", "p50#", "p99#", "max#", "total#", "open#", "spent")}
	for _, g := range r.Groups {
		row := append([]web.Cell{text(g.Kind), wrap(g.Name)}, spread(g.Spread)...)
		t.Rows = append(t.Rows, append(row, count(g.Open), wrap(output.Spent(&g))))
	}
	return []web.Table{t}
}

// tables returns the other tables that have rows.
func tables(r *trace.Report) []web.Table {
	var out []web.Table
	for _, t := range []web.Table{waits(r), blocks(r), calls(r), pauses(r), assists(r), lives(r)} {
		if len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}

func waits(r *trace.Report) web.Table {
	t := web.Table{Caption: "Runnable until running: the wait for a P, by what made the goroutine runnable", Heads: web.Heads("cause", "count#", "p50#", "p99#", "max#", "total#")}
	for _, w := range r.Waits {
		t.Rows = append(t.Rows, append([]web.Cell{text(w.Cause)}, spread(w.Spread)...))
	}
	return t
}

func blocks(r *trace.Report) web.Table {
	t := web.Table{Caption: "Blocked, by reason and call; those that wait for work are last", Heads: web.Heads("reason", "call", "for work", "count#", "total#", "max#")}
	for _, b := range r.Blocks {
		idle := ""
		if b.Idle {
			idle = "yes"
		}
		t.Rows = append(t.Rows, []web.Cell{text(b.Reason), wrap(b.Call), text(idle), count(b.Count), ns(b.TotalNS), ns(b.MaxNS)})
	}
	return t
}

func calls(r *trace.Report) web.Table {
	t := web.Table{Caption: "System calls", Heads: web.Heads("call", "count#", "total#", "max#", "lost their P#")}
	for _, c := range r.Syscalls {
		t.Rows = append(t.Rows, []web.Cell{wrap(c.Call), count(c.Count), ns(c.TotalNS), ns(c.MaxNS), count(c.Lost)})
	}
	return t
}

func pauses(r *trace.Report) web.Table {
	t := web.Table{Caption: "World stopped, by reason", Heads: web.Heads("reason", "count#", "p50#", "p99#", "max#", "total#")}
	for _, p := range r.GC.Pauses {
		t.Rows = append(t.Rows, append([]web.Cell{text(p.Kind)}, spread(p.Spread)...))
	}
	return t
}

func assists(r *trace.Report) web.Table {
	t := web.Table{Caption: "Mark assists: goroutines that had to mark because they allocated", Heads: web.Heads("goroutine's function", "call", "count#", "total#", "max#")}
	for _, a := range r.GC.Assists {
		t.Rows = append(t.Rows, []web.Cell{wrap(a.Func), wrap(a.Call), count(a.Count), ns(a.TotalNS), ns(a.MaxNS)})
	}
	return t
}

func lives(r *trace.Report) web.Table {
	t := web.Table{
		Caption: "Goroutines by their first function",
		Heads:   web.Heads("function", "created in", "existed#", "created#", "ended#", "longest life#", "running#", "runnable#", "system calls#", "blocked"),
	}
	for _, l := range r.Lives {
		var blocked []string
		for i, b := range l.Blocked {
			if i == 3 {
				break
			}
			blocked = append(blocked, b.Reason+" "+output.Time(b.TotalNS))
		}
		t.Rows = append(t.Rows, []web.Cell{
			wrap(l.Func), wrap(l.Creator), count(l.Existed), count(l.Created), count(l.Ended), ns(l.Life.MaxNS), ns(l.RunningNS), ns(l.ReadyNS), ns(l.SyscallNS),
			wrap(strings.Join(blocked, ", ")),
		})
	}
	return t
}
