package page

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/watch"
)

// view is what the script draws: see OverTime in lab/report/web/src/run.ts.
type view struct {
	Axis   axis      `json:"axis"`
	Bounds []float64 `json:"bounds"`
	Charts []chart   `json:"charts"`
}

type chart struct {
	Plot  string `json:"plot"`
	Print string `json:"print"`
	Log   bool   `json:"log"`
	Lines []line `json:"lines"`
	Marks []rule `json:"marks"`

	Title string `json:"-"`
	Text  string `json:"-"`
}

type line struct {
	Name   string     `json:"name"`
	Look   string     `json:"look"`
	Values []*float64 `json:"values"`
}

// rule is a mark that was crossed.
type rule struct {
	At   float64 `json:"at"` // seconds
	Text string  `json:"text"`
}

// group is a section of the page.
type group struct {
	ID, Title, Text string
	Charts          []chart
}

// plan is a chart: its figures, with the names of their lines. A figure that is a family has a
// line for each of its largest members.
type plan struct {
	title, text string
	log         bool
	threads     bool // seconds each second are a number of threads
	figures     [][2]string
}

// looks are the styles of lines, in order. Lines with the names of bounds have a style of their own.
var (
	looks  = []string{"first", "second", "third", "fourth", "fifth"}
	bounds = []string{"limit", "quota", "goal"}
)

// groups returns the sections that have a chart.
func (p *Page) groups() (list []group) {
	for i, g := range plans {
		one := group{ID: fmt.Sprintf("g%d", i), Title: g.title, Text: g.text}
		for k, c := range g.charts {
			if made, ok := p.chart(c); ok {
				made.Plot = fmt.Sprintf("c%d-%d", i, k)
				one.Charts = append(one.Charts, made)
			}
		}
		if len(one.Charts) > 0 {
			list = append(list, one)
		}
	}
	one := group{ID: "extra", Title: "Further figures", Text: "Of the samplers of this watch."}
	for i, f := range p.extra {
		if made, ok := p.chart(plan{title: report.Line(f.Name), text: report.Line(f.Meaning), figures: [][2]string{{f.Name, ""}}}); ok {
			made.Plot = fmt.Sprintf("x%d", i)
			one.Charts = append(one.Charts, made)
		}
	}
	if len(one.Charts) > 0 {
		list = append(list, one)
	}
	return list
}

// chart makes a chart; false if all of it is absent, or 0.
func (p *Page) chart(c plan) (chart, bool) {
	out := chart{Title: c.title, Text: c.text, Log: c.log, Lines: []line{}, Marks: []rule{}}
	drawn := map[string]bool{}
	for _, f := range c.figures {
		drawn[f[0]] = true
		figure := p.known[f[0]]
		print, by := printed(figure.Unit)
		if out.Print = print; c.threads {
			out.Print = "count"
		}
		for _, name := range p.members(figure) {
			values, title := p.series.values(name, by), cmp.Or(f[1], name)
			if _, member, ok := watch.Family(name); ok {
				title = report.Line(member)
			}
			if !slices.ContainsFunc(values, func(v *float64) bool { return v != nil && *v != 0 }) {
				continue
			}
			look := looks[len(out.Lines)%len(looks)]
			if slices.Contains(bounds, f[1]) {
				look = "asked"
			}
			out.Lines = append(out.Lines, line{title, look, values})
		}
	}
	for _, m := range p.marks {
		if slices.ContainsFunc(p.needs[m.Mark], func(f string) bool { return drawn[f] }) {
			out.Marks = append(out.Marks, rule{m.T, m.Mark})
		}
	}
	return out, len(out.Lines) > 0
}

// members returns the figure, or the largest members of a family.
func (p *Page) members(f watch.Figure) []string {
	var names []string
	for _, one := range watch.In(f, p.series.tracks) {
		names = append(names, one.Name)
	}
	if _, _, family := watch.Family(f.Name); family {
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(p.series.mean(b), p.series.mean(a)) })
	}
	return names[:min(len(names), len(looks))]
}

// printed returns how the script prints values of a unit, and what they are multiplied with.
func printed(u watch.Unit) (print string, by float64) {
	switch u {
	case watch.Cores:
		return "cpus", 1
	case watch.Bytes:
		return "bytes", 1
	case watch.ByteRate:
		return "byterate", 1
	case watch.PerSecond:
		return "rate", 1
	case watch.Share:
		return "share", 1
	case watch.Seconds:
		return "micros", 1e6
	}
	return "count", 1
}
