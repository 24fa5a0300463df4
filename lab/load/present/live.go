package present

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/screen"
)

// sparkCells is how many points of the rate the panel shows.
const sparkCells = 60

// scaleWidth is the most that is written beside them: "  0 to 12.3k/s, lowest 9.80k/s".
const scaleWidth = 32

// Live shows a run while it goes on: a panel that rewrites itself on a terminal,
// elsewhere a line a second. What cannot be written is lost: it is no result. Nil shows
// nothing.
type Live struct {
	w      io.Writer
	screen screen.Screen
	doc    *Document
	phase  string
	point  Point
	read   Point // the last with a reading of the runtime
	rates  []float64
	errors uint64
	drawn  int     // lines of the panel on the screen
	said   float64 // whole seconds that a line was written for
	steps  bool    // without a terminal, only what is said
}

// NewLive shows on w, which is that screen.
func NewLive(w io.Writer, on screen.Screen) *Live { return &Live{w: w, screen: on} }

// Steps leaves out the lines of progress: there are many runs, and their caller
// says what comes of each.
func (l *Live) Steps() {
	if l != nil {
		l.steps = true
	}
}

// Begin starts over with another run. Of d the configuration is read.
func (l *Live) Begin(d *Document) {
	if l == nil {
		return
	}
	*l = Live{w: l.w, screen: l.screen, steps: l.steps, doc: d, phase: "connect", said: math.Inf(-1)}
	l.draw()
}

// Connected says that the warm-up begins.
func (l *Live) Connected() {
	if l == nil {
		return
	}
	l.phase = "warm-up"
	l.draw()
}

// Window says that the window begins.
func (l *Live) Window() {
	if l == nil {
		return
	}
	l.phase, l.errors, l.said = "window", 0, math.Inf(-1)
	l.draw()
}

// Point shows what happened since the last.
func (l *Live) Point(p Point) {
	if l == nil {
		return
	}
	if l.point = p; p.Runtime != nil {
		l.read = p
	}
	l.errors += p.Errors
	l.rates = append(l.rates, p.Rate)
	if over := len(l.rates) - sparkCells; over > 0 {
		l.rates = append(l.rates[:0], l.rates[over:]...)
	}
	if l.screen.Rewrites {
		l.draw()
		return
	}
	if second := math.Floor(p.T); second > l.said && !l.steps {
		l.said = second
		l.line(l.progress())
	}
}

// Say writes a line that stays.
func (l *Live) Say(text string) {
	if l == nil {
		return
	}
	l.End()
	l.line(text)
}

// line writes a line, wrapped on a terminal.
func (l *Live) line(text string) {
	if l.screen.Width > 0 {
		l.write(l.screen.Paragraph("", "  ", text))
		return
	}
	l.write(text + "\n")
}

// End takes the panel off the screen.
func (l *Live) End() {
	if l == nil {
		return
	}
	if l.drawn > 0 {
		l.write(fmt.Sprintf("\x1b[%dA\r\x1b[J", l.drawn))
		l.drawn = 0
	}
}

func (l *Live) write(text string) {
	_, _ = io.WriteString(l.w, text)
}

// progress is the line for those without a terminal.
func (l *Live) progress() string {
	return fmt.Sprintf("%-7s %5.1fs  %s", l.phase, l.point.T, strings.Join(l.figures(), "  "))
}

// figures are those of the last point.
func (l *Live) figures() []string {
	p := l.point
	if p.Stream != nil {
		return l.beside(append(streamFigures(&p), fmt.Sprintf("errors %d", l.errors)))
	}
	out := []string{
		"rate " + report.PerSecond(p.Rate) + "/s", "p50 " + report.Micros(p.P50Us, " "), "p99 " + report.Micros(p.P99Us, " "),
		fmt.Sprintf("errors %d", l.errors),
	}
	if l.doc.Config.Ramp != "" {
		out = append(out, fmt.Sprintf("users %d", p.Users))
	}
	if l.doc.Config.Arrivals != "" {
		out = append(out, "send lag "+report.Micros(p.SendLag, " "), fmt.Sprintf("waiting %d", p.Waiting))
	}
	return l.beside(out)
}

// beside adds what is seen of the server.
func (l *Live) beside(out []string) []string {
	p := l.point
	if l.doc.Server != nil {
		out = append(out, fmt.Sprintf("server CPU %.2f", p.ServerCPU), "RSS "+report.Bytes(float64(p.RSSBytes), " "),
			fmt.Sprintf("threads %d", p.Threads), fmt.Sprintf("descriptors %d", p.OpenFiles))
	}
	return append(out, l.runtimeFigures()...)
}

// panel is what a terminal shows.
func (l *Live) panel() []string {
	c := l.doc.Config
	span, at := c.DurationSeconds, l.point.T
	if l.phase != "window" {
		span, at = c.WarmupSeconds, c.WarmupSeconds+min(l.point.T, 0)
		if len(l.rates) == 0 {
			at = 0
		}
	} else if at < 0 {
		at = 0
	}
	share := 0.0
	if span > 0 {
		share = at / span
	}
	lines := []string{
		l.doc.Asked(),
		fmt.Sprintf("%s %-7s %.1f of %.1f s", report.Bar(share, min(20, l.screen.Width/4)), l.phase, at, span),
	}
	if len(l.rates) == 0 {
		return lines
	}
	var row string
	for _, f := range l.figures() {
		if row != "" && screen.Width(row)+3+screen.Width(f) >= l.screen.Width {
			lines, row = append(lines, row), ""
		}
		if row != "" {
			row += "   "
		}
		row += f
	}
	return append(lines, row, l.spark())
}

// spark draws the last rates, and says what the heights mean.
func (l *Live) spark() string {
	cells := min(len(l.rates), max(l.screen.Width-1-scaleWidth, 8))
	shown := l.rates[len(l.rates)-cells:]
	return fmt.Sprintf("%s  0 to %s/s, lowest %s/s", report.Spark(shown), report.PerSecond(slices.Max(shown)), report.PerSecond(slices.Min(shown)))
}

// draw writes the panel over the one before.
func (l *Live) draw() {
	if !l.screen.Rewrites {
		return
	}
	var b strings.Builder
	if l.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", l.drawn)
	}
	lines := l.panel()
	for _, text := range lines {
		b.WriteString("\r\x1b[2K" + screen.Snip(text, l.screen.Width-1) + "\n")
	}
	b.WriteString("\x1b[J")
	l.drawn = len(lines)
	l.write(b.String())
}
