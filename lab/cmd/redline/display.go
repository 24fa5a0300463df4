package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/suite"
)

// A display shows the progress of a comparison: one line that is rewritten on a terminal,
// one line per block elsewhere.
type display struct {
	w     io.Writer
	s     screen.Screen
	gates bool // show each gate that a run fails; otherwise only those of wrong or missing answers
	last  string
}

func newDisplay(w io.Writer, s screen.Screen, gates bool) *display {
	return &display{w: w, s: s, gates: gates}
}

// show is a suite.Progress.
func (d *display) show(s suite.Step) {
	switch {
	case s.Phase == "plan":
		d.say(s.Note)
	case s.Err != nil:
		d.line(fmt.Sprintf("%s: %v", s.Subject, s.Err))
	case s.Phase == "build" || s.Phase == "check":
		d.status(s.Phase, s.Subject, s.Done, s.Total)
	case s.Phase == "ceiling":
		d.status("maximum rate of "+s.Subject, cmp.Or(s.Note, s.Workload), s.Done, s.Total)
	case s.Run == nil && s.Note != "":
		d.status(fmt.Sprintf("block %d/%d  %s", s.Block, s.Blocks, s.Workload), s.Note, s.Done, s.Total)
	case s.Run == nil:
		d.status(fmt.Sprintf("block %d/%d  %s", s.Block, s.Blocks, s.Workload), s.Subject+"  "+left(s.Left), s.Done, s.Total)
	case s.Run.Failed != "":
		d.line(fmt.Sprintf("%s failed: %s", s.Run.ID, s.Run.Failed))
		if s.Run.Stderr != "" {
			d.line("  " + strings.ReplaceAll(strings.TrimSpace(s.Run.Stderr), "\n", "\n  "))
		}
	case s.Run.Short != "":
		d.line(fmt.Sprintf("%s is excluded: %s", s.Run.ID, s.Run.Short))
	default:
		for _, g := range s.Run.Gates {
			switch {
			case g.Passed || len(g.Spoils) > 0 && !d.gates:
			case g.Disturbance:
				d.line(fmt.Sprintf("%s was disturbed: %s", s.Run.ID, g.Text))
			default:
				d.line(fmt.Sprintf("%s is not valid: %s", s.Run.ID, g.Text))
			}
		}
	}
}

// say prints a remark.
func (d *display) say(text string) {
	d.end()
	fmt.Fprint(d.w, d.s.Paragraph("", "  ", text))
}

func left(t time.Duration) string {
	return "about " + t.Round(time.Second).String() + " left"
}

// status shows the current step: in place on a terminal, elsewhere once per stage.
func (d *display) status(stage, detail string, done, total int) {
	text := stage + "  " + detail
	if !d.s.Rewrites {
		if stage != d.last {
			d.last = stage
			fmt.Fprintln(d.w, text)
		}
		return
	}
	share := float64(done) / float64(max(total, 1))
	text = fmt.Sprintf("%s %3d %%  %s", report.Bar(share, min(20, d.s.Width/8)), int(100*share), text)
	fmt.Fprintf(d.w, "\r\x1b[2K%s", screen.Snip(text, d.s.Width-1))
}

// line prints a permanent line.
func (d *display) line(text string) {
	if d.s.Rewrites {
		fmt.Fprint(d.w, "\r\x1b[2K")
	}
	if d.s.Width == 0 {
		fmt.Fprintln(d.w, text)
		return
	}
	for l := range strings.SplitSeq(text, "\n") {
		fmt.Fprint(d.w, d.s.Paint(screen.Bad, d.s.Paragraph("", "  ", l)))
	}
}

// end clears the status line.
func (d *display) end() {
	if d.s.Rewrites {
		fmt.Fprint(d.w, "\r\x1b[2K")
	}
}
