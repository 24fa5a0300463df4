package report

import (
	_ "embed" // the page's source
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/report/web"
	"github.com/redline-go/redline/lab/results"
)

var (
	//go:embed page.gohtml
	pageSource   string
	pageTemplate = web.Parse("page", pageSource)
)

// page is the data of the template. html/template escapes its strings.
type page struct {
	Frame     web.Frame
	Title     string
	Doubts    []notice // INVALID or PARTIAL
	Headlines []link
	Disturbed string
	Gaps      []notice // UNDECIDED or FAILED
	Notices   []notice // that put nothing in doubt
	Gates     []notice
	Floors    []string
	Facts     []fact
	Sections  []section
	Failures  []failure
	Tables    []rawTable
	Changes   []string
}

// link is a sentence about a workload, with a link to its section.
type link struct{ Anchor, Title, Text string }

// fact is a line of the machine's fingerprint.
type fact struct{ Name, Text string }

// section is one workload.
type section struct {
	Anchor, Title, Text, Verdicts, Unit string
	Columns                             []pageColumn
	Rows                                []pageRow
	Charts                              bool    // it has charts
	CPU                                 bool    // they include the bars of CPU
	Series                              []chart // those over time
	Reasons                             []string
	Percentiles, Blocks                 rawTable
	Targets                             rawTable
}

// pageColumn is the heading of a column, split into lines.
type pageColumn struct {
	Lines []string
	Class string
}

// pageRow is a subject.
type pageRow struct {
	Role, Title, Subject string
	Cells                []pageCell
}

// pageCell is a figure, followed by Small in small print.
type pageCell struct {
	Class, Text, Small string
	Bound              bool
}

// HTML writes f as one self-contained page: charts, tables, and f itself for
// download, without the histograms of single runs. The page opens from a file, and its content security policy denies it
// the network. HTML returns the errors of w, and an error for an invalid histogram
// in f.
func HTML(w io.Writer, f *results.File) error {
	p, err := newPage(f)
	if err != nil {
		return fmt.Errorf("make page: %w", err)
	}
	return web.Write(w, pageTemplate, p)
}

func newPage(f *results.File) (*page, error) {
	v, err := newView(f)
	if err != nil {
		return nil, err
	}
	frame, err := web.NewFrame(v, "results.json", func(w io.Writer) error { return results.Encode(w, portable(f)) })
	if err != nil {
		return nil, err
	}
	p := &page{
		Frame:  frame,
		Title:  fmt.Sprintf("%s, %s", plural(servers(f), "server"), plural(len(f.Workloads), "workload")),
		Doubts: doubts(f), Disturbed: disturbances(f), Gaps: gaps(f), Notices: remarks(f), Gates: gateNotices(f.Runs),
		Floors:   noiseFloors(f),
		Facts:    facts(f),
		Failures: failures(f),
		Tables:   rawTables(f),
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

// portable returns a copy of f without what makes most of its size: the histograms of single runs,
// and their latencies over time. The cells have the merged histograms.
func portable(f *results.File) *results.File {
	out := *f
	out.Runs = slices.Clone(f.Runs)
	for i := range out.Runs {
		r := &out.Runs[i]
		r.Latency.Histogram = ""
		r.Targets = slices.Clone(r.Targets)
		for k := range r.Targets {
			r.Targets[k].Latency.Histogram = ""
		}
		if r.Open != nil {
			open := *r.Open
			open.Service.Histogram, open.SendLag.Histogram, open.Pacing.Histogram = "", "", ""
			r.Open = &open
		}
		r.Series = slices.Clone(r.Series)
		for k := range r.Series {
			r.Series[k].Heat = nil
		}
	}
	return &out
}

func newSection(f *results.File, load results.Workload, drawn *viewWorkload, anchor string) section {
	rows := rowsOf(f, load)
	columns := columnsOf(load, rows, false)
	s := section{
		Charts: !load.Idle, CPU: len(drawn.Bars) > 0, Series: drawn.charts(),
		Anchor: anchor, Title: title(load), Text: describe(load), Verdicts: verdicts(f, load), Unit: unit(load),
		Reasons: reasons(load, rows), Percentiles: percentileTable(rows), Blocks: blockTable(f, load, rows), Targets: targetTable(f, load),
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
			one := pageCell{Class: c.class(v), Text: v, Small: small, Bound: bound}
			if c.grey(p) {
				one.Class, one.Text = one.Class+" disturbed", mark+v
			}
			out.Cells = append(out.Cells, one)
		}
		s.Rows = append(s.Rows, out)
	}
	return s
}

// servers counts the subjects except the twin and the floor.
func servers(f *results.File) int {
	n := 0
	for _, s := range f.Subjects {
		if s.Role != roleTwin && s.Role != roleFloor && s.LeftOut == "" {
			n++
		}
	}
	return n
}

// facts returns the fingerprint of the machine and the configuration of the comparison.
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
	for _, s := range f.Subjects {
		if b := s.Build; b != nil && s.Role != roleTwin && s.LeftOut == "" {
			text := s.Name + " by " + b.Toolchain
			if b.Flags != "" {
				text += ", GOFLAGS " + b.Flags
			}
			out = append(out, fact{"Build", text})
		}
	}
	for i := range out {
		out[i].Text = Line(out[i].Text)
	}
	return out
}

// list prints CPU numbers: 0, 1.
func list(cpus []int) string {
	if len(cpus) == 0 {
		return "any"
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(cpus), " ", ", "), "[]")
}
