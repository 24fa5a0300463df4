package present

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/redline-go/redline/lab/load/objective"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/results"
)

// suite and suiteCase are the elements of a JUnit report.
type suite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Stamp    string      `xml:"timestamp,attr"`
	Cases    []suiteCase `xml:"testcase"`
}

type suiteCase struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Failure *problem `xml:"failure"`
	Error   *problem `xml:"error"`
	Skipped *problem `xml:"skipped"`
	Output  string   `xml:"system-out,omitempty"`
}

type problem struct {
	Message string `xml:"message,attr"`
}

// JUnit writes a run as a JUnit report: a case for its validity, which is an error if it is INVALID, and
// one for each threshold, which fails if it is broken and is skipped if it is undecided. It returns the
// errors of w.
func JUnit(w io.Writer, d *Document) error {
	s := suite{Name: "redline load " + report.Line(d.Asked()), Time: fmt.Sprintf("%.3f", d.Seconds), Stamp: d.Started.UTC().Format("2006-01-02T15:04:05")}
	valid := suiteCase{Class: "redline.load", Name: "valid", Output: d.Disturbance()}
	if !d.Valid {
		valid.Error = &problem{strings.Join(gateTexts(d), "; ")}
		s.Errors++
	}
	s.Cases = append(s.Cases, valid)
	for _, j := range d.Thresholds {
		c := suiteCase{Class: "redline.load", Name: report.Line(j.Objective), Output: report.Line(j.Why)}
		switch {
		case j.Undecided != "":
			c.Skipped = &problem{report.Line(j.Why)}
			s.Skipped++
		case !j.Kept:
			c.Failure = &problem{report.Line(j.Why)}
			s.Failures++
		}
		s.Cases = append(s.Cases, c)
	}
	s.Tests = len(s.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(s); err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// gateTexts returns why a run is INVALID.
func gateTexts(d *Document) (texts []string) {
	for _, g := range d.Failed() {
		if !g.Disturbance {
			texts = append(texts, report.Line(g.Text))
		}
	}
	return texts
}

// Markdown writes a summary of a run in Markdown, for the pages of CI. It returns the errors of w.
func Markdown(w io.Writer, d *Document) error {
	var b strings.Builder
	state := "valid"
	switch {
	case !d.Valid:
		state = "**INVALID**: " + cell(strings.Join(gateTexts(d), "; "))
	case d.Disturbance() != "":
		state = "disturbed: " + cell(d.Disturbance())
	}
	fmt.Fprintf(&b, "### redline load: %s\n\n%s, %s\n\n", cell(d.Asked()), cell(d.Describe()), state)
	if d.Partial != "" {
		fmt.Fprintf(&b, "**PARTIAL**: %s\n\n", cell(d.Partial))
	}
	b.WriteString("| rate | errors |")
	for _, p := range d.Percents() {
		fmt.Fprintf(&b, " %s |", results.PercentileName(p))
	}
	b.WriteString("\n|" + strings.Repeat("---:|", 2+len(d.Percents())) + "\n")
	n, _ := d.Failures()
	fmt.Fprintf(&b, "| %s/s | %d (%s) |", report.PerSecond(d.RequestsPerSecond), n, report.Share(d.ErrorRatio))
	for _, p := range d.Percents() {
		fmt.Fprintf(&b, " %s |", report.Quantile(d.Latency.Percentile(p), " "))
	}
	b.WriteString("\n\n")
	if len(d.Thresholds) > 0 {
		b.WriteString("| threshold | | result |\n|---|---|---|\n")
	}
	for _, j := range d.Thresholds {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", cell(j.Objective), outcome(j), cell(j.Why))
	}
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "\n> %s\n", cell(n))
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func outcome(j objective.Judged) string {
	switch {
	case j.Undecided != "":
		return "undecided"
	case j.Kept:
		return "kept"
	}
	return "**broken**"
}

// cell makes a text harmless within a line, or a cell of a table, of Markdown.
func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;", "\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_").Replace(report.Line(text))
}
