package present

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/redline-go/redline/lab/report"
)

// sparkCells is how many points of the rate the panel shows.
const sparkCells = 60

// Live shows a run while it goes on: a panel that rewrites itself on a terminal,
// elsewhere a line a second. What cannot be written is lost: it is no result. Nil shows
// nothing.
type Live struct {
	w      io.Writer
	width  int // of the terminal; 0 when it is none
	doc    *Document
	phase  string
	point  Point
	read   Point // the last with a reading of the runtime
	rates  []float64
	errors uint64
	done   uint64  // requests of the window, errors included
	drawn  int     // lines of the panel on the screen
	said   float64 // whole seconds that a line was written for
	steps  bool    // without a terminal, only what is said
}

// NewLive shows on w; width is that of the terminal, 0 when w is none.
func NewLive(w io.Writer, width int) *Live { return &Live{w: w, width: width} }

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
	*l = Live{w: l.w, width: l.width, steps: l.steps, doc: d, phase: "connect", said: math.Inf(-1)}
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
	l.phase, l.errors, l.done, l.said = "window", 0, 0, math.Inf(-1)
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
	l.done += p.done
	l.rates = append(l.rates, p.Rate)
	if over := len(l.rates) - sparkCells; over > 0 {
		l.rates = append(l.rates[:0], l.rates[over:]...)
	}
	if l.width > 0 {
		l.draw()
		return
	}
	if second := math.Floor(p.T); second > l.said && !l.steps {
		l.said = second
		l.write(l.progress() + "\n")
	}
}

// Say writes a line that stays.
func (l *Live) Say(text string) {
	if l == nil {
		return
	}
	l.End()
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
	figures := l.figures()
	if l.counts() {
		figures = append([]string{l.share()}, figures...)
	}
	return fmt.Sprintf("%-7s %5.1fs  %s", l.phase, l.point.T, strings.Join(figures, "  "))
}

// counts reports whether the window ends after a number of requests.
func (l *Live) counts() bool { return l.phase == "window" && l.doc.Config.Requests > 0 }

// share says how many of these there were.
func (l *Live) share() string {
	return fmt.Sprintf("%d of %d requests", l.done, l.doc.Config.Requests)
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
	text := fmt.Sprintf("%.1f of %.1f s", at, span)
	if l.counts() {
		share, text = float64(l.done)/float64(c.Requests), fmt.Sprintf("%s, %.1f s", l.share(), at)
	}
	lines := []string{
		l.doc.Asked(),
		fmt.Sprintf("%s %-7s %s", report.Bar(min(share, 1), 20), l.phase, text),
	}
	if len(l.rates) == 0 {
		return lines
	}
	var row string
	for _, f := range l.figures() {
		if row != "" && l.width > 0 && len([]rune(row))+3+len([]rune(f)) >= l.width {
			lines, row = append(lines, row), ""
		}
		if row != "" {
			row += "   "
		}
		row += f
	}
	return append(lines, row, report.Spark(l.rates))
}

// draw writes the panel over the one before.
func (l *Live) draw() {
	if l.width == 0 {
		return
	}
	var b strings.Builder
	if l.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", l.drawn)
	}
	lines := l.panel()
	for _, text := range lines {
		if r := []rune(text); len(r) >= l.width {
			text = string(r[:max(l.width-1, 0)])
		}
		b.WriteString("\r\x1b[2K" + text + "\n")
	}
	b.WriteString("\x1b[J")
	l.drawn = len(lines)
	l.write(b.String())
}
