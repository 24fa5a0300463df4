package page

import (
	_ "embed" // the page's source
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/web"
	"github.com/redline-go/redline/lab/watch"
	"github.com/redline-go/redline/lab/watch/output"
)

var (
	//go:embed page.gohtml
	source string
	layout = web.Parse("watch", source)
)

// Page collects a watch for its page, in bounded memory: of a long watch, columns hold several
// samples. It is not safe for concurrent use.
type Page struct {
	begin  output.Begin
	title  string
	extra  []watch.Figure
	known  map[string]watch.Figure
	needs  map[string][]string // of the marks
	series *series
	marks  []watch.Crossed
}

// New returns a page of the watch that begins. title is the name of the process.
func New(b output.Begin, title string) *Page {
	p := &Page{begin: b, title: title, extra: b.Extra, known: map[string]watch.Figure{}, needs: map[string][]string{}, series: newSeries(b.Every)}
	for _, f := range append(watch.Figures(), b.Extra...) {
		p.known[f.Name] = f
	}
	for _, m := range watch.Marks() {
		p.needs[m.Name] = m.Needs
	}
	return p
}

// Event adds an event. The error is always nil.
func (p *Page) Event(e watch.Event) error {
	switch {
	case e.Sample != nil:
		p.series.add(e.Sample.T, e.Sample.Values)
	case e.Crossed != nil:
		p.marks = append(p.marks, *e.Crossed)
	}
	return nil
}

// page is the data of the template. html/template escapes its strings.
type page struct {
	Frame   web.Frame
	Title   string
	What    string
	Ended   string
	Figures []headline
	Marks   web.Table
	Idle    []string
	Groups  []group
	Table   web.Table
	Missing []string
}

type headline struct{ Name, Text, Small string }

// document is what the page offers for download.
type document struct {
	Begin   output.Begin          `json:"begin"`
	Axis    axis                  `json:"axis"`
	Figures map[string][]*float64 `json:"figures"` // means of the columns of the axis; null where nothing was read
	Marks   []watch.Crossed       `json:"marks"`
	End     watch.Summary         `json:"end"`
}

// Write writes the page with the summary of the watch. It returns the errors of w.
func (p *Page) Write(w io.Writer, s watch.Summary) error {
	groups := p.groups()
	v := view{Axis: p.series.axis(), Bounds: []float64{}, Charts: []chart{}}
	for _, g := range groups {
		v.Charts = append(v.Charts, g.Charts...)
	}
	frame, err := web.NewFrame(v, "watch.json", func(w io.Writer) error { return json.NewEncoder(w).Encode(p.document(s)) })
	if err != nil {
		return fmt.Errorf("make page: %w", err)
	}
	data := &page{Frame: frame, Title: report.Line(p.title), What: p.what(s), Figures: p.headlines(s), Groups: groups, Marks: p.markTable(s), Table: p.table(s)}
	if s.End == watch.EndGone {
		data.Ended = fmt.Sprintf("The process ended after %s.", report.Seconds(s.Seconds))
	}
	for _, m := range s.Marks {
		if len(m.Missing) > 0 {
			data.Idle = append(data.Idle, fmt.Sprintf("%s was not evaluated without %s.", m.Mark, strings.Join(m.Missing, ", ")))
		}
	}
	for _, m := range s.Missing {
		data.Missing = append(data.Missing, report.Line(output.Missing(m)))
	}
	return web.Write(w, layout, data)
}

func (p *Page) document(s watch.Summary) document {
	d := document{Begin: p.begin, Axis: p.series.axis(), Figures: map[string][]*float64{}, Marks: append([]watch.Crossed{}, p.marks...), End: s}
	for name := range p.series.tracks {
		d.Figures[name] = p.series.values(name, 1)
	}
	return d
}

// what describes the watch in a line.
func (p *Page) what(s watch.Summary) string {
	text := fmt.Sprintf("Process %d, %s, %s", p.begin.PID, p.begin.Started.UTC().Format("2006-01-02 15:04:05 MST"), s.Taken())
	if len(p.begin.Command) > 0 {
		text += ": " + report.Line(strings.Join(p.begin.Command, " "))
	}
	return text
}

// headlines are the figures at the top of the page: median and maximum, or that there are too few
// samples for them.
func (p *Page) headlines(s watch.Summary) (list []headline) {
	for _, h := range [][2]string{
		{"cpu_total", "CPU, cores"},
		{"rss_bytes", "Resident memory"},
		{"requests", "Requests"},
		{"tcp_established", "Connections"},
		{"threads", "Threads"},
		{"descriptors", "Descriptors"},
		{"goroutines", "Goroutines"},
		{"syscalls_all", "System calls"},
	} {
		if r, ok := s.Figures[h[0]]; ok {
			unit := p.known[h[0]].Unit
			one := headline{h[1], output.Format(unit, r.Median), "median; at most " + output.Format(unit, r.Max)}
			if s.Sparse() || r.Sparse() {
				least, most := output.Format(unit, r.Min), output.Format(unit, r.Max)
				if one.Text, one.Small = "–", fmt.Sprintf("only in %d of %d samples: %s", r.Samples, r.Due, least); most != least {
					one.Small += " to " + most
				}
			}
			list = append(list, one)
		}
	}
	return list
}

// markTable returns the table of the marks that were evaluated, those crossed first.
func (p *Page) markTable(s watch.Summary) web.Table {
	t := web.Table{Caption: "Marks: thresholds on the last ten seconds", Heads: web.Heads("mark", "crossed#", "first after#", "worst#", "limit#", "unit", "meaning")}
	meaning := map[string]string{}
	for _, m := range watch.Marks() {
		meaning[m.Name] = m.Meaning
	}
	marks := slices.Clone(s.Marks)
	slices.SortStableFunc(marks, func(a, b watch.MarkSummary) int { return b.Times - a.Times })
	for _, m := range marks {
		if len(m.Missing) > 0 {
			continue
		}
		name, first, worst := web.Cell{Text: m.Mark}, web.Cell{Text: "–", Number: true}, web.Cell{Text: "–", Number: true}
		if m.Times > 0 {
			name.Class = "broken"
			first, worst = web.Number(m.First, report.Seconds(m.First)), web.Number(m.Worst, fmt.Sprintf("%.3g", m.Worst))
		}
		t.Rows = append(t.Rows, []web.Cell{
			name, web.Number(float64(m.Times), fmt.Sprint(m.Times)), first, worst, web.Number(m.Limit, fmt.Sprintf("%.3g", m.Limit)), {Text: m.Unit}, {Text: meaning[m.Mark], Class: "wrap"},
		})
	}
	return t
}

// table returns the table of all figures that were read, with their sources.
func (p *Page) table(s watch.Summary) web.Table {
	t := web.Table{Caption: "All figures, with their sources", Heads: web.Heads("figure", "min#", "median#", "max#", "last#", "samples#", "source", "meaning")}
	for _, f := range append(watch.Figures(), p.extra...) {
		for _, one := range watch.In(f, s.Figures) {
			r := one.Value
			number := func(v float64) web.Cell { return web.Number(v, output.Format(f.Unit, v)) }
			t.Rows = append(t.Rows, []web.Cell{
				{Text: report.Line(one.Name)},
				number(r.Min), number(r.Median), number(r.Max), number(r.Last), web.Number(float64(r.Samples), taken(r)),
				{Text: report.Line(f.Source), Class: "wrap"},
				{Text: report.Line(f.Meaning), Class: "wrap"},
			})
		}
	}
	return t
}

// taken returns in how many samples a figure was read.
func taken(r watch.Range) string {
	if r.Sparse() {
		return fmt.Sprintf("%d of %d", r.Samples, r.Due)
	}
	return fmt.Sprint(r.Samples)
}
