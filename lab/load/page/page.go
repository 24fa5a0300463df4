package page

import (
	"bytes"
	_ "embed" // the page's source
	"encoding/json"
	"fmt"
	"html/template"
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

// page is what the template shows. Plain strings in it are escaped by html/template
// where they stand; the typed ones are ours.
type page struct {
	Policy     string // Content-Security-Policy
	Title      string
	Load       string // how it was made
	Unit       string
	Valid      bool
	Gates      []failedGate
	Partial    string
	Found      string // by a search
	Thresholds web.Table
	Figures    []figure
	Charts     []chart
	Curves     bool
	Heat       bool
	Tables     []web.Table // that everybody reads
	More       []web.Table // that some do
	Facts      []fact
	Notes      []string
	Style      template.CSS
	Script     template.JS
	View       template.JS
	Run        template.JS
}

// Write writes the page of d, which holds d itself to download. It opens from a file,
// and its content security policy denies it the network. It returns the errors of w, and
// an error for a histogram in d that cannot be read.
func Write(w io.Writer, d *present.Document) error {
	p, err := lay(d)
	if err != nil {
		return fmt.Errorf("make page: %w", err)
	}
	var out bytes.Buffer
	if err := layout.Execute(&out, p); err != nil {
		return fmt.Errorf("make page: %w", err)
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

func lay(d *present.Document) (*page, error) {
	v, err := draw(d)
	if err != nil {
		return nil, err
	}
	// json.Marshal escapes <, > and & in strings: the text cannot leave its element.
	drawn, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode view: %w", err)
	}
	packed, err := web.Pack(d.Encode)
	if err != nil {
		return nil, fmt.Errorf("pack run: %w", err)
	}
	p := &page{
		Policy: web.Policy(), Title: d.Asked(), Load: report.Line(d.Describe()), Unit: unit(d), Valid: d.Valid,
		Gates: failedGates(d), Partial: report.Line(d.Partial), Thresholds: thresholds(d), Figures: figures(d),
		Charts: v.Charts, Curves: len(v.Curves) > 0, Heat: len(v.Heat.Columns) > 0, Facts: facts(d),
		Style: template.CSS(web.Style), Script: template.JS(web.Script), View: template.JS(drawn), Run: template.JS(packed),
	}
	if d.Search != nil {
		p.Found = report.Line(d.Search.Text)
	}
	for _, t := range []web.Table{steps(d), targets(d), tags(d), flows(d), workers(d)} {
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
