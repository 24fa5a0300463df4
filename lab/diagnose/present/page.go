package present

import (
	_ "embed" // the page's source
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/web"
)

var (
	//go:embed page.gohtml
	source string
	layout = web.Parse("diagnosis", source)
)

// page is the data of the template. html/template escapes its strings, of which many are foreign:
// names of functions, addresses, errors.
type page struct {
	Frame   web.Frame
	URL     string
	What    string
	Verdict string
	Doubts  []doubt
	Figures []figure
	Causes  []shownCause
	Refuted []refuted
	Tried   []string
	Sweep   *sweep
	Law     string
	Tables  []web.Table
	More    []web.Table
	Missing []string
}

type doubt struct{ Word, Text string }

type figure struct{ Name, Text, Small string }

type refuted struct{ Title, Text string }

type shownCause struct {
	ID, Title, Gain, Confidence string
	Rank                        int
	Evidence, Advice            []string
	Places                      web.Table
	Trial                       string
}

// Page writes the report as a page, with the evidence e, which has the stacks that the report
// leaves out. The page needs no network and no other file, and offers the report as JSON. The
// errors are those of w.
func Page(w io.Writer, r *diagnose.Report, e *diagnose.Evidence) error {
	frame, err := web.NewFrame(struct{}{}, "diagnosis.json", func(w io.Writer) error { return json.NewEncoder(w).Encode(r) })
	if err != nil {
		return fmt.Errorf("make page: %w", err)
	}
	p := &page{
		Frame: frame, URL: report.Line(r.URL), Verdict: r.Verdict, Figures: figures(r), Sweep: drawSweep(r), Law: law(r),
		What: fmt.Sprintf("%s, %s; it took %s", program(&r.Server), r.Started.UTC().Format("2006-01-02 15:04 MST"), took(r)),
	}
	if !r.Valid {
		for _, why := range r.Why {
			p.Doubts = append(p.Doubts, doubt{"INVALID", report.Line(why)})
		}
	}
	if r.Partial != "" {
		p.Doubts = append(p.Doubts, doubt{"PARTIAL", report.Line(r.Partial)})
	}
	if r.Disturbed != "" {
		p.Doubts = append(p.Doubts, doubt{"DISTURBED", report.Line(r.Disturbed)})
	}
	for i := range r.Causes {
		p.Causes = append(p.Causes, showCause(i+1, &r.Causes[i]))
	}
	for i := range r.Refuted {
		p.Refuted = append(p.Refuted, refuted{report.Line(r.Refuted[i].Title), report.Line(r.Refuted[i].Trial.Text)})
	}
	for _, t := range r.Trials {
		p.Tried = append(p.Tried, report.Line(t.Text))
	}
	p.Tables = tables(spendTable(r), sweepTable(r), loadTable(r))
	p.More = tables(adviceTable(r), functionTable(e), waitTable(e), callTable(e), peerTable(e))
	for _, text := range append(slices.Clone(r.Doubts), r.Missing...) {
		p.Missing = append(p.Missing, report.Line(text))
	}
	return web.Write(w, layout, p)
}

// tables leaves out those without rows.
func tables(list ...web.Table) (out []web.Table) {
	for _, t := range list {
		if len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}

func showCause(rank int, c *diagnose.Cause) shownCause {
	s := shownCause{
		ID: c.ID, Rank: rank, Title: report.Line(c.Title), Gain: Gain(c.Gain), Confidence: report.Share(c.Confidence),
		Places: web.Table{Caption: "Where", Heads: web.Heads("function", "place", "share#")},
	}
	for _, text := range c.Evidence {
		s.Evidence = append(s.Evidence, report.Line(text))
	}
	for _, text := range c.Advice {
		s.Advice = append(s.Advice, report.Line(text))
	}
	for _, at := range c.Sites {
		place := ""
		if at.File != "" {
			place = at.File + ":" + strconv.Itoa(at.Line)
		}
		s.Places.Rows = append(s.Places.Rows, []web.Cell{{Text: report.Line(at.Func)}, {Text: report.Line(place)}, web.Number(at.Share, report.Share(at.Share))})
	}
	if c.Trial != nil {
		s.Trial = report.Line(c.Trial.Text)
	}
	return s
}

// program names the server.
func program(s *diagnose.Server) string {
	text := s.Command
	if s.Version != "" {
		text += " (" + s.Version + ")"
	} else if s.Language != "" && s.Language != text {
		text += " (" + s.Language + ")"
	}
	if text == "" {
		text = "the server's processes are unknown"
	}
	return report.Line(text)
}

func figures(r *diagnose.Report) []figure {
	out := []figure{{"highest rate", report.PerSecond(r.Ceiling) + "/s", ""}}
	if best := r.Best(); best != nil {
		out[0].Small = fmt.Sprintf("with %d connections, %.2f CPUs", best.Connections, best.CPU)
	}
	if knee := r.Evidence.Knee(); knee != nil {
		out = append(
			out,
			figure{"CPU at the knee", fmt.Sprintf("%.2f of %.3g", knee.Cores, r.Server.Cores()), fmt.Sprintf("with %d connections, %s in the kernel", knee.Connections, report.Share(knee.System))},
			figure{"CPU of an answer", duration(knee.CPU), ""},
			figure{"latency at the knee", duration(knee.Latency.P50), "p99 " + duration(knee.Latency.P99)},
		)
	}
	if low := r.Evidence.Load(diagnose.Low); low != nil {
		out = append(out, figure{"latency at a tenth", duration(low.Latency.P50), "p99 " + duration(low.Latency.P99)})
	}
	if len(r.Causes) > 0 {
		out = append(out, figure{"first cause", r.Causes[0].ID, ""})
	}
	return out
}

func law(r *diagnose.Report) string {
	l := r.Evidence.Law
	if l == nil {
		return ""
	}
	return fmt.Sprintf("Line: the universal scalability law, contention %.3f (%.3f to %.3f), coherence %.2g (%.2g to %.2g), R² %.3f.",
		l.Sigma, l.SigmaInterval[0], l.SigmaInterval[1], l.Kappa, l.KappaInterval[0], l.KappaInterval[1], l.R2)
}
