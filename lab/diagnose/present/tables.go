package present

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/web"
)

// mostRows limits a table of evidence.
const mostRows = 30

// spendTable has where requests spend their time.
func spendTable(r *diagnose.Report) web.Table {
	t := web.Table{Caption: strings.TrimSuffix(spendTitle(r), ":"), Heads: web.Heads("share#", "what", "place", "stack, innermost first")}
	for _, s := range r.Time {
		t.Rows = append(t.Rows, []web.Cell{
			web.Number(s.Share, report.Share(s.Share)),
			{Text: report.Line(s.What)},
			{Text: report.Line(strings.TrimPrefix(spendPlace(s), ", "))},
			{Text: report.Line(strings.Join(s.Stack, " < "))},
		})
	}
	return t
}

func sweepTable(r *diagnose.Report) web.Table {
	t := web.Table{Caption: "Sweep", Heads: web.Heads("connections#", "requests/s#", "p50#", "p99#", "CPUs#", "valid")}
	for _, p := range r.Sweep {
		valid := "yes"
		if !p.Valid {
			valid = report.Line(p.Why)
		}
		t.Rows = append(t.Rows, []web.Cell{
			web.Number(float64(p.Connections), strconv.Itoa(p.Connections)), web.Number(p.Rate, report.PerSecond(p.Rate)),
			web.Number(p.P50, duration(p.P50)), web.Number(p.P99, duration(p.P99)), web.Number(p.CPU, fmt.Sprintf("%.2f", p.CPU)),
			{Text: valid},
		})
	}
	return t
}

func loadTable(r *diagnose.Report) web.Table {
	t := web.Table{Caption: "Loads", Heads: web.Heads("load", "requests/s#", "CPU of an answer#", "CPUs#", "mean#", "p50#", "p99#", "errors#", "bytes of an answer#")}
	for i := range r.Loads {
		l := &r.Loads[i]
		t.Rows = append(t.Rows, []web.Cell{
			{Text: l.Name},
			web.Number(l.Rate, report.PerSecond(l.Rate)), web.Number(l.CPU, duration(l.CPU)), web.Number(l.Cores, fmt.Sprintf("%.2f", l.Cores)),
			web.Number(l.Latency.Mean, duration(l.Latency.Mean)), web.Number(l.Latency.P50, duration(l.Latency.P50)), web.Number(l.Latency.P99, duration(l.Latency.P99)),
			web.Number(l.Errors, report.Share(l.Errors)), web.Number(l.Answer, report.Bytes(l.Answer, " ")),
		})
	}
	return t
}

func adviceTable(r *diagnose.Report) web.Table {
	t := web.Table{Caption: "Lines that allocate", Heads: web.Heads("bytes an answer#", "line", "what", "why", "what to do")}
	for _, a := range r.Advice {
		t.Rows = append(t.Rows, []web.Cell{
			web.Number(a.Bytes, report.Bytes(a.Bytes, " ")),
			{Text: report.Line(a.File + ":" + strconv.Itoa(a.Line))},
			{Text: report.Line(a.What)},
			{Text: report.Line(a.Reason)},
			{Text: report.Line(a.Do)},
		})
	}
	return t
}

// sums adds up weights by name, and returns the heaviest names.
func sums(s *diagnose.Stacks, name func(*diagnose.Stack) string) []diagnose.Site {
	by := map[string]float64{}
	for i := range s.List {
		if n := name(&s.List[i]); n != "" {
			by[n] += s.List[i].Weight
		}
	}
	var list []diagnose.Site
	for n, w := range by {
		list = append(list, diagnose.Site{Frame: diagnose.Frame{Func: n}, Weight: w})
	}
	slices.SortFunc(list, func(a, b diagnose.Site) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Frame.Func, b.Frame.Func))
	})
	return list[:min(len(list), mostRows)]
}

// functionTable has the functions that use the CPU at the knee.
func functionTable(e *diagnose.Evidence) web.Table {
	t := web.Table{Caption: "Functions on the CPU, at the knee", Heads: web.Heads("function", "share#", "of an answer#")}
	knee := e.Knee()
	if knee == nil || knee.OnCPU == nil || knee.OnCPU.Total == 0 {
		return t
	}
	leaf := func(k *diagnose.Stack) string {
		if len(k.Frames) == 0 {
			return ""
		}
		return k.Frames[0].Func
	}
	for _, s := range sums(knee.OnCPU, leaf) {
		share := s.Weight / knee.OnCPU.Total
		t.Rows = append(t.Rows, []web.Cell{{Text: report.Line(s.Frame.Func)}, web.Number(share, report.Share(share)), web.Number(share*knee.CPU, duration(share*knee.CPU))})
	}
	return t
}

// waitTable has what goroutines wait for at the knee.
func waitTable(e *diagnose.Evidence) web.Table {
	t := web.Table{Caption: "Goroutines by what they do, at the knee, on average", Heads: web.Heads("state", "in", "goroutines#")}
	knee := e.Knee()
	if knee == nil || knee.Wall == nil {
		return t
	}
	type place struct{ state, at string }
	by := map[place]float64{}
	for i := range knee.Wall.List {
		k := &knee.Wall.List[i]
		p := place{state: k.State}
		if k.Wait != "" {
			p.state = k.Wait
		}
		for _, f := range k.Frames {
			if f.Kind != diagnose.Runtime {
				p.at = f.Func
				break
			}
		}
		by[p] += k.Weight
	}
	order := slices.SortedFunc(maps.Keys(by), func(a, b place) int {
		return cmp.Or(cmp.Compare(by[b], by[a]), cmp.Compare(a.at, b.at), cmp.Compare(a.state, b.state))
	})
	for _, p := range order[:min(len(order), mostRows)] {
		t.Rows = append(t.Rows, []web.Cell{{Text: report.Line(p.state)}, {Text: report.Line(p.at)}, web.Number(by[p], fmt.Sprintf("%.2f", by[p]))})
	}
	return t
}

func callTable(e *diagnose.Evidence) web.Table {
	t := web.Table{Caption: "System calls, at the knee", Heads: web.Heads("call", "of an answer#", "each second#", "seconds in it, each second#", "bytes a call#", "errors each second#")}
	knee := e.Knee()
	if knee == nil || knee.Kernel == nil {
		return t
	}
	calls := knee.Kernel.Calls
	order := slices.SortedFunc(maps.Keys(calls), func(a, b string) int {
		return cmp.Or(cmp.Compare(calls[b].Rate, calls[a].Rate), cmp.Compare(a, b))
	})
	for _, name := range order[:min(len(order), mostRows)] {
		c := calls[name]
		t.Rows = append(t.Rows, []web.Cell{
			{Text: name},
			web.Number(knee.Each(c.Rate), fmt.Sprintf("%.2f", knee.Each(c.Rate))), web.Number(c.Rate, report.PerSecond(c.Rate)),
			web.Number(c.Seconds, fmt.Sprintf("%.3f", c.Seconds)), web.Number(c.Bytes, report.Bytes(c.Bytes, " ")), web.Number(c.Errors, report.PerSecond(c.Errors)),
		})
	}
	return t
}

func peerTable(e *diagnose.Evidence) web.Table {
	t := web.Table{Caption: "Other servers, at the knee", Heads: web.Heads("address", "exchanges of an answer#", "wait, mean#", "wait, p99#", "connects each second#", "bytes a send#")}
	knee := e.Knee()
	if knee == nil || knee.Kernel == nil {
		return t
	}
	for i := range knee.Kernel.Peers[:min(len(knee.Kernel.Peers), mostRows)] {
		p := &knee.Kernel.Peers[i]
		t.Rows = append(t.Rows, []web.Cell{
			{Text: report.Line(p.Addr)},
			web.Number(knee.Each(p.Waits), fmt.Sprintf("%.2f", knee.Each(p.Waits))), web.Number(p.Wait.Mean, duration(p.Wait.Mean)),
			web.Number(p.Wait.P99, duration(p.Wait.P99)), web.Number(p.Connects, report.PerSecond(p.Connects)), web.Number(p.Bytes, report.Bytes(p.Bytes, " ")),
		})
	}
	return t
}
