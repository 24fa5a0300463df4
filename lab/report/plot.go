package report

import (
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"strings"

	"github.com/redline-go/redline/lab/results"
)

// A Plotted is a curve of a [Plot].
type Plotted struct {
	Label   string
	Latency results.Latency
}

// Dimensions of the plot, in pixels, except plotDecades.
const (
	plotWidth, plotHeight = 760, 400
	plotLeft, plotRight   = 64, 20
	plotTop, plotBottom   = 16, 44
	plotLegend            = 20 // height of a line
	plotInnerWide         = plotWidth - plotLeft - plotRight
	plotInnerHigh         = plotHeight - plotTop - plotBottom
	plotDecades           = 2 // least number of decades of latency
)

// plotColours can be distinguished with red-green colour blindness, on light and dark
// backgrounds. Curves also differ in their dashes.
var plotColours = []string{"#b3122a", "#1f6feb", "#00805d", "#9a6700", "#8250df", "#6b675f"}

var plotDashes = []string{"", "8 4", "2 3", "10 3 2 3", "5 2", "1 2"}

// Plot draws latencies by percentile as an SVG image, with logarithmic axes: percentiles
// by the share above them. A curve ends where fewer than ten samples are above. At most
// six curves are allowed. Plot returns the errors of w, and an error for an invalid
// histogram.
func Plot(w io.Writer, curves []Plotted) error {
	if len(curves) == 0 || len(curves) > len(plotColours) {
		return fmt.Errorf("plot %d curves: want 1 to %d", len(curves), len(plotColours))
	}
	p := plot{low: math.Inf(1), high: math.Inf(-1), right: 2}
	for _, c := range curves {
		points, err := NewCurve(c.Latency)
		if err != nil {
			return fmt.Errorf("plot %s: %w", c.Label, err)
		}
		p.add(points.Points)
	}
	if math.IsInf(p.low, 1) {
		return errors.New("plot: there are no samples")
	}
	p.round()
	p.open()
	p.axes()
	for i, c := range curves {
		p.draw(i, c.Label)
	}
	p.b.WriteString("</svg>\n")
	if _, err := io.WriteString(w, p.b.String()); err != nil {
		return fmt.Errorf("write plot: %w", err)
	}
	return nil
}

// A plot is an image that is being drawn.
type plot struct {
	b         strings.Builder
	curves    [][][2]float64
	low, high float64 // of latency, log10 of microseconds
	right     float64 // end of the percentiles, in nines
}

func (p *plot) add(points [][2]float64) {
	p.curves = append(p.curves, points)
	for _, at := range points {
		p.low, p.high = min(p.low, math.Log10(max(at[1], 0.1))), max(p.high, math.Log10(max(at[1], 0.1)))
		p.right = max(p.right, at[0])
	}
}

// round makes the axis of latency begin and end with a power of ten, with a tolerance for
// the histograms' precision.
func (p *plot) round() {
	const hair = 0.01
	p.low, p.high = math.Floor(p.low+hair), math.Ceil(p.high-hair)
	p.high = max(p.high, p.low+plotDecades)
}

func (p *plot) x(at float64) float64 {
	from := nines(firstPercentile)
	return plotLeft + plotInnerWide*(at-from)/(p.right-from)
}

func (p *plot) y(us float64) float64 {
	return plotTop + plotInnerHigh*(1-(math.Log10(max(us, 0.1))-p.low)/(p.high-p.low))
}

func (p *plot) open() {
	fmt.Fprintf(&p.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="latency by percentile">
<style>text{fill:#1c1b19}.rule{stroke:#e3dfd6}.paper{fill:#fdfcf9}@media (prefers-color-scheme:dark){text{fill:#ebe7df}.rule{stroke:#35322d}.paper{fill:#171614}}</style>
<rect class="paper" width="%[1]d" height="%[2]d"/>
`, plotWidth, plotHeight)
}

// axes draws the grid and its labels.
func (p *plot) axes() {
	bottom := plotHeight - plotBottom
	for e := p.low; e <= p.high; e++ {
		us := math.Pow(10, e)
		y := p.y(us)
		fmt.Fprintf(&p.b, `<line class="rule" x1="%d" x2="%d" y1="%.1f" y2="%.1[3]f"/><text x="%[4]d" y="%.1[5]f" text-anchor="end">%[6]s</text>`+"\n",
			plotLeft, plotWidth-plotRight, y, plotLeft-8, y+4, decade(us))
	}
	for _, percentile := range []float64{0.5, 0.9, 0.99, 0.999, 0.9999} {
		at := nines(percentile)
		if at > p.right+1e-9 {
			break
		}
		fmt.Fprintf(&p.b, `<line class="rule" x1="%.1f" x2="%.1[1]f" y1="%[2]d" y2="%[3]d"/><text x="%.1[1]f" y="%[4]d" text-anchor="middle">p%[5]g</text>`+"\n",
			p.x(at), plotTop, bottom, bottom+18, round(percentile*100, 2))
	}
	fmt.Fprintf(&p.b, `<text x="%d" y="%d" text-anchor="middle">percentile of the requests</text>`+"\n",
		plotLeft+plotInnerWide/2, plotHeight-8)
}

// decade prints a power of ten of microseconds: 10 µs, 1 ms.
func decade(us float64) string {
	for _, u := range []struct {
		of   float64
		name string
	}{{1e6, "s"}, {1e3, "ms"}, {1, "µs"}, {1e-3, "ns"}} {
		if us >= u.of*0.9995 {
			return fmt.Sprintf("%.0f %s", us/u.of, u.name)
		}
	}
	return fmt.Sprintf("%g µs", us)
}

// draw adds a curve and its line in the legend.
func (p *plot) draw(i int, label string) {
	y := plotTop + plotLegend*(i+1)
	stroke := fmt.Sprintf(`fill="none" stroke="%s" stroke-width="2" stroke-dasharray="%s"`, plotColours[i], plotDashes[i])
	fmt.Fprintf(&p.b, `<path %s d="M%d %dh28"/><text x="%d" y="%d">%s</text>`+"\n",
		stroke, plotLeft+12, y-4, plotLeft+48, y, html.EscapeString(Line(label)))
	var path strings.Builder
	for n, at := range p.curves[i] {
		move := 'L'
		if n == 0 {
			move = 'M'
		}
		fmt.Fprintf(&path, "%c%.1f %.1f", move, p.x(at[0]), p.y(at[1]))
	}
	fmt.Fprintf(&p.b, `<path %s d="%s"/>`+"\n", stroke, path.String())
}
