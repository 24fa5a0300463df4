package report

import (
	"bytes"
	_ "embed" // the page's source
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/redline-go/redline/lab/report/web"
	"github.com/redline-go/redline/lab/results"
)

var (
	//go:embed page.gohtml
	pageSource   string
	pageTemplate = web.Parse("page", pageSource)
)

// page is what the template shows. Plain strings in it are escaped by
// html/template where they stand; the typed ones are ours.
type page struct {
	Policy    string // Content-Security-Policy
	Title     string
	Notices   []notice
	Doubt     bool // a notice worse than a note, or a run that did not count
	Headlines []link
	Floors    []string
	Facts     []fact
	Sections  []section
	Failures  []failure
	Tables    []rawTable
	Changes   []string
	Style     template.CSS
	Script    template.JS
	View      template.JS
	Results   template.JS
}

// link is a sentence about a workload, and where the page has more.
type link struct{ Anchor, Title, Text string }

// fact is a line of the machine's fingerprint.
type fact struct{ Name, Text string }

// section is one workload.
type section struct {
	Anchor, Title, Text, Verdicts, Unit string
	Columns                             []pageColumn
	Rows                                []pageRow
	Charts                              bool    // there is something to draw,
	CPU                                 bool    // the bars of CPU among it, and
	Series                              []chart // these over time
	Reasons                             []string
	Percentiles, Blocks                 rawTable
	Targets                             rawTable
}

// pageColumn is the head of a column; its lines are broken.
type pageColumn struct {
	Lines []string
	Class string
}

// pageRow is a subject.
type pageRow struct {
	Role, Title, Subject string
	Cells                []pageCell
}

// pageCell is a figure, with what stands behind it in small.
type pageCell struct {
	Class, Text, Small string
	Bound              bool
}

// HTML writes f as one page that needs nothing else: charts, tables, and f
// itself to download. It opens from a file, and its content security policy
// denies it the network. It returns the errors of w, and an error for a
// histogram in f that cannot be read.
func HTML(w io.Writer, f *results.File) error {
	p, err := newPage(f)
	if err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, p); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

func newPage(f *results.File) (*page, error) {
	v, err := newView(f)
	if err != nil {
		return nil, err
	}
	// json.Marshal escapes <, > and & in strings: the text cannot leave its element.
	drawn, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode view: %w", err)
	}
	packed, err := web.Pack(func(w io.Writer) error { return results.Encode(w, f) })
	if err != nil {
		return nil, fmt.Errorf("pack results: %w", err)
	}
	p := &page{
		Policy:   web.Policy(),
		Title:    fmt.Sprintf("%s, %s", plural(servers(f), "server"), plural(len(f.Workloads), "workload")),
		Notices:  notices(f),
		Floors:   noiseFloors(f),
		Facts:    facts(f),
		Failures: failures(f),
		Tables:   rawTables(f),
		Style:    template.CSS(web.Style),
		Script:   template.JS(web.Script),
		View:     template.JS(drawn),
		Results:  template.JS(packed),
	}
	for _, n := range p.Notices {
		p.Doubt = p.Doubt || n.Word != "Gate" && n.Word != "NOTE"
	}
	for _, c := range f.Config.Changes {
		p.Changes = append(p.Changes, Line(c))
	}
	for i, load := range f.Workloads {
		s := newSection(f, load, &v.Workloads[i], fmt.Sprintf("w%d", i))
		p.Sections = append(p.Sections, s)
		p.Headlines = append(p.Headlines, link{s.Anchor, s.Title, headline(f, load)})
	}
	return p, nil
}

func newSection(f *results.File, load results.Workload, drawn *viewWorkload, anchor string) section {
	rows, columns := rowsOf(f, load), columnsOf(load, false)
	s := section{
		Charts: !load.Idle, CPU: len(drawn.Bars) > 0, Series: drawn.charts(),
		Anchor: anchor, Title: title(load), Text: describe(load), Verdicts: verdicts(f, load), Unit: unit(load),
		Reasons: reasons(rows), Percentiles: percentileTable(rows), Blocks: blockTable(f, load, rows), Targets: targetTable(f, load),
	}
	for _, c := range columns {
		head := strings.Split(strings.ReplaceAll(c.head, "\n/", "\nper "), "\n")
		s.Columns = append(s.Columns, pageColumn{Lines: head, Class: c.class("")})
	}
	for _, r := range rows {
		p := r.print(" ")
		out := pageRow{Role: p.Role, Title: p.Title, Subject: p.Subject}
		for _, c := range columns {
			v, small, bound := c.of(p)
			out.Cells = append(out.Cells, pageCell{Class: c.class(v), Text: v, Small: small, Bound: bound})
		}
		s.Rows = append(s.Rows, out)
	}
	return s
}

// servers counts the subjects that are servers of their own.
func servers(f *results.File) int {
	n := 0
	for _, s := range f.Subjects {
		if s.Role != roleTwin && s.Role != roleFloor {
			n++
		}
	}
	return n
}

// facts is the fingerprint of the machine, and how it was used.
func facts(f *results.File) []fact {
	m, c := f.Machine, f.Config
	machine := fmt.Sprintf("%s, %d × CPU, %s", m.CPU, m.CPUs, Bytes(float64(m.MemoryBytes), " "))
	if m.Virtual != "" {
		machine += ", virtual (" + m.Virtual + ")"
	}
	if m.Governor != "" {
		machine += ", governor " + m.Governor
	}
	commit := m.Commit
	if commit != "" {
		commit = ", commit " + commit
	}
	out := []fact{
		{"Machine", machine},
		{"System", fmt.Sprintf("%s, Linux %s, %s", m.OS, m.Kernel, m.Arch)},
		{"Built with", m.Go + ", " + f.Tool + commit},
		{"Plan", fmt.Sprintf("%s: %s of %s after %s of warm-up, seed %d", c.Mode, plural(c.Blocks, "block"),
			Seconds(c.WindowSeconds), Seconds(c.WarmupSeconds), c.Seed)},
		{"CPUs", fmt.Sprintf("server on %s, generator on %s", list(c.ServerCPUs), list(c.GeneratorCPUs))},
		{"TCP", fmt.Sprintf("congestion control %s (system: %s), ports %d–%d, %d files", c.Congestion, m.Congestion,
			m.PortRange[0], m.PortRange[1], m.FileLimit)},
		{"Run", fmt.Sprintf("%s to %s", f.Started.UTC().Format("2006-01-02 15:04"), f.Ended.UTC().Format("15:04 MST"))},
		{"Command", strings.Join(f.Command, " ")},
	}
	for i := range out {
		out[i].Text = Line(out[i].Text)
	}
	return out
}

// list prints CPUs: 0, 1.
func list(cpus []int) string {
	if len(cpus) == 0 {
		return "any"
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(cpus), " ", ", "), "[]")
}
