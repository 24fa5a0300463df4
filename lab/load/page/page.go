package page

import (
	_ "embed" // the page's source
	"fmt"
	"io"

	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/web"
)

var (
	//go:embed page.gohtml
	source string
	layout = web.Parse("run", source)
)

// page is the data of the template. html/template escapes its strings.
type page struct {
	Frame      web.Frame
	Title      string
	Load       string // description of the load
	Unit       string
	Valid      bool
	Disturbed  string // what disturbed a valid run
	Gates      []failedGate
	Partial    string
	Found      string // result of a search
	Thresholds web.Table
	Figures    []figure
	Charts     []chart
	Curves     bool
	Heat       bool
	Tables     []web.Table // main tables
	More       []web.Table // tables with details
	Facts      []fact
	Notes      []string
}

// Write writes the page of d, which contains d itself as a download. It works from a file, and
// its content security policy blocks all network access. It returns the errors of w, and an
// error for a histogram in d that cannot be decoded.
func Write(w io.Writer, d *present.Document) error {
	p, err := lay(d)
	if err != nil {
		return fmt.Errorf("make page: %w", err)
	}
	return web.Write(w, layout, p)
}

func lay(d *present.Document) (*page, error) {
	v, err := draw(d)
	if err != nil {
		return nil, err
	}
	frame, err := web.NewFrame(v, "run.json", d.Encode)
	if err != nil {
		return nil, err
	}
	p := &page{
		Frame: frame, Title: d.Asked(), Load: report.Line(d.Describe()), Unit: unit(d), Valid: d.Valid, Disturbed: d.Disturbance(),
		Gates: failedGates(d), Partial: report.Line(d.Partial), Thresholds: thresholds(d), Figures: figures(d),
		Charts: v.Charts, Curves: len(v.Curves) > 0, Heat: len(v.Heat.Columns) > 0, Facts: facts(d),
	}
	if d.Search != nil {
		p.Found = report.Line(d.Search.Text)
	}
	for _, t := range []web.Table{steps(d), stages(d), ramp(d), targets(d), tags(d), flows(d), workers(d)} {
		if len(t.Rows) > 0 {
			p.Tables = append(p.Tables, t)
		}
	}
	for _, t := range []web.Table{gates(d), profiles(d)} {
		if len(t.Rows) > 0 {
			p.More = append(p.More, t)
		}
	}
	p.Tables = append([]web.Table{percentiles(d)}, p.Tables...)
	for _, n := range d.Notes {
		p.Notes = append(p.Notes, report.Line(n))
	}
	return p, nil
}
