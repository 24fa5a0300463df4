// Package page writes the HTML page of a trace: what each P did over time, where requests spent
// their time, and the tables of the report. It works from a file, without a network.
package page

import (
	_ "embed" // the page's source
	"encoding/json"
	"fmt"
	"io"

	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/web"
	"github.com/redline-go/redline/lab/trace"
	"github.com/redline-go/redline/lab/trace/output"
)

var (
	//go:embed page.gohtml
	source string
	layout = web.Parse("trace", source)
)

// page is the data of the template. html/template escapes its strings.
type page struct {
	Frame    web.Frame
	Title    string
	Source   string
	Partial  string
	Figures  []figure
	Charts   []chart
	Slowest  []slow
	Requests []web.Table
	Tables   []web.Table
	Leaks    []string
	Dropped  []string
	More     int    // Ps that are not drawn
	Least    string // shortest span that is drawn one by one
}

type figure struct{ Name, Text, Small string }

// slow is the text about one of the slowest requests. The script draws its bar.
type slow struct{ Name, Text, Detail string }

// Write writes the page of a report, which contains the report as a download. It returns the
// errors of w.
func Write(w io.Writer, r *trace.Report) error {
	v := draw(r)
	frame, err := web.NewFrame(v, "trace.json", func(w io.Writer) error { return json.NewEncoder(w).Encode(r) })
	if err != nil {
		return fmt.Errorf("make page: %w", err)
	}
	p := &page{
		Frame: frame, Title: output.Title(r), Source: report.Line(r.Source), Partial: report.Line(r.Partial), Figures: figures(r),
		Charts: v.Charts, Requests: groups(r), Tables: tables(r), More: r.Lanes.More,
	}
	if r.Lanes.LeastNS > 0 {
		p.Least = output.Time(r.Lanes.LeastNS)
	}
	for _, q := range r.Slowest {
		p.Slowest = append(p.Slowest, slowOf(q))
	}
	for _, l := range r.Leaks {
		p.Leaks = append(p.Leaks, fmt.Sprintf("%s: %s of %s created in the window were still blocked at its end, for at least %s: %s in %s",
			report.Line(l.Func), output.Count(l.Count), output.Count(l.Created), output.Time(l.LeastNS), report.Line(l.Reason), report.Line(l.Call)))
	}
	for _, d := range r.Dropped {
		p.Dropped = append(p.Dropped, fmt.Sprintf("The table of %s was full: %s entries are missing.", d.Table, output.Count(int64(d.Count))))
	}
	return web.Write(w, layout, p)
}

func figures(r *trace.Report) []figure {
	u := r.Use
	all := u.UserNS + u.GCNS + u.SyscallNS + u.SchedNS + u.IdleNS
	list := []figure{
		{"Ps in use", output.Share(all-u.IdleNS, all), fmt.Sprintf("of GOMAXPROCS %d", r.Procs)},
		{"Collecting", output.Share(u.GCNS, all), fmt.Sprintf("%d cycles", r.GC.Cycles)},
		{"System calls", output.Count(r.Handoffs.Calls), fmt.Sprintf("%d lost their P", r.Handoffs.Taken+r.Handoffs.Given)},
		{"Goroutines", output.Count(int64(r.Goroutines)), fmt.Sprintf("on %d threads", r.Threads)},
	}
	for _, w := range r.Waits {
		if w.Cause == "network poller" {
			list = append(list, figure{"Ready to running", output.Percentile(w.P50NS), "median, from the network poller; max " + output.Time(w.MaxNS)})
		}
	}
	if len(r.Slowest) > 0 {
		list = append(list, figure{"Slowest request", output.Time(r.Slowest[0].NS), report.Line(r.Slowest[0].Name)})
	}
	return list
}

// slowOf returns the text about a request.
func slowOf(q trace.Request) slow {
	s := slow{Name: fmt.Sprintf("%s %s", q.Kind, report.Line(q.Name)), Text: output.Time(q.NS) + " at " + output.Time(q.BeginNS)}
	switch {
	case q.Early && q.Open:
		s.Text += ", longer than the window"
	case q.Early:
		s.Text += ", begun before the window"
	case q.Open:
		s.Text += ", not ended in the window"
	}
	s.Detail = fmt.Sprintf("goroutine %d: %s", q.Goroutine, output.Reason(q.Spent, q.Hot))
	for _, c := range q.Children {
		s.Detail += fmt.Sprintf("; %s %s: %d in %s", c.Kind, report.Line(c.Name), c.Count, output.Time(c.TotalNS))
	}
	if q.Cut > 0 {
		s.Detail += fmt.Sprintf("; the last %d pieces are not drawn", q.Cut)
	}
	return s
}
