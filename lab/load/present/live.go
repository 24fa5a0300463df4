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

// sparkCells is the number of points of the rate that the panel shows.
const sparkCells = 60

// scaleWidth is the maximum width of the text after them: "  0 to 12.3k/s, lowest 9.80k/s".
const scaleWidth = 32

// Live shows the progress of a run: a panel that is redrawn on a terminal, and a line a second
// elsewhere. Write errors are ignored: this output is not a result. A nil Live shows nothing.
type Live struct {
	w      io.Writer
	screen screen.Screen
	doc    *Document
	phase  string
	point  Point
	read   Point // last point with a reading of the runtime
	rates  []float64
	errors uint64
	done   uint64 // requests in the window, including errors
	panel  screen.Panel
	said   float64 // second for which the last line was written
	steps  bool    // without a terminal, only the lines of Say
}

// NewLive returns a Live that writes to w, a screen with the given properties.
func NewLive(w io.Writer, on screen.Screen) *Live { return &Live{w: w, screen: on} }

// Steps disables the lines of progress: there are many runs, and the caller reports the
// result of each.
func (l *Live) Steps() {
	if l != nil {
		l.steps = true
	}
}

// Begin starts another run. It reads the configuration of d.
func (l *Live) Begin(d *Document) {
	if l == nil {
		return
	}
	*l = Live{w: l.w, screen: l.screen, steps: l.steps, doc: d, phase: "connect", said: math.Inf(-1), panel: screen.Panel{Screen: l.screen}}
	l.draw()
}

// Connected is called when the warm-up begins.
func (l *Live) Connected() {
	if l == nil {
		return
	}
	l.phase = "warm-up"
	l.draw()
}

// Window is called when the window begins.
func (l *Live) Window() {
	if l == nil {
		return
	}
	l.phase, l.errors, l.done, l.said = "window", 0, 0, math.Inf(-1)
	l.draw()
}

// Point shows a point of the time series.
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
	if l.screen.Rewrites {
		l.draw()
		return
	}
	if second := math.Floor(p.T); second > l.said && !l.steps {
		l.said = second
		l.line(l.progress())
	}
}

// Say writes a permanent line.
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

// End removes the panel from the screen.
func (l *Live) End() {
	if l == nil {
		return
	}
	l.write(l.panel.Clear())
}

func (l *Live) write(text string) {
	_, _ = io.WriteString(l.w, text)
}

// progress returns the line that is written if there is no terminal.
func (l *Live) progress() string {
	figures := l.figures()
	if l.counts() {
		figures = append([]string{l.share()}, figures...)
	}
	return fmt.Sprintf("%-7s %5.1fs  %s", l.phase, l.point.T, strings.Join(figures, "  "))
}

// counts reports whether the window ends after a number of requests.
func (l *Live) counts() bool { return l.phase == "window" && l.doc.Config.Requests > 0 }

// share returns the number of requests done and requested, as text.
func (l *Live) share() string {
	return fmt.Sprintf("%d of %d requests", l.done, l.doc.Config.Requests)
}

// figures returns the figures of the last point.
func (l *Live) figures() []string {
	p := l.point
	if p.Stream != nil {
		return l.beside(append(streamFigures(&p), fmt.Sprintf("errors %d", l.errors)))
	}
	out := []string{
		"rate " + report.PerSecond(p.Rate) + "/s", "p50 " + waited(p.P50Us), "p99 " + waited(p.P99Us),
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

// beside adds the figures of the server.
func (l *Live) beside(out []string) []string {
	p := l.point
	if l.doc.Server != nil {
		out = append(out, fmt.Sprintf("server CPU %.2f", p.ServerCPU), "RSS "+report.Bytes(float64(p.RSSBytes), " "),
			fmt.Sprintf("threads %d", p.Threads), fmt.Sprintf("descriptors %d", p.OpenFiles))
	}
	return append(out, l.runtimeFigures()...)
}

// lines returns the panel for a terminal.
func (l *Live) lines() []string {
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
		fmt.Sprintf("%s %-7s %s", report.Bar(min(share, 1), min(20, l.screen.Width/4)), l.phase, text),
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

// spark draws the last rates and their scale.
func (l *Live) spark() string {
	cells := min(len(l.rates), max(l.screen.Width-1-scaleWidth, 8))
	shown := l.rates[len(l.rates)-cells:]
	return fmt.Sprintf("%s  0 to %s/s, lowest %s/s", report.Spark(shown), report.PerSecond(slices.Max(shown)), report.PerSecond(slices.Min(shown)))
}

// draw replaces the previous panel.
func (l *Live) draw() {
	if !l.screen.Rewrites {
		return
	}
	l.write(l.panel.Draw(l.lines()))
}

// waited formats a quantile of a point; 0 means that nothing was answered, and nothing waited.
func waited(us float64) string {
	if us == 0 {
		return "–"
	}
	return report.Micros(us, " ")
}
