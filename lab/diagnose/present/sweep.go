package present

import (
	"fmt"
	"math"
	"strings"

	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/report"
)

// sweep is the chart of the rate by connections, in the pixels of its view box.
type sweep struct {
	Grid   []segment
	Labels []label
	Law    string // points of a polyline
	Dots   []dot
}

type segment struct{ X1, Y1, X2, Y2 string }

type label struct{ X, Y, Text, Class string }

type dot struct {
	X, Y, Text string
	Valid      bool
}

// Dimensions of the chart.
const (
	chartWidth, chartHeight = 760.0, 320.0
	chartLeft, chartRight   = 64.0, 20.0
	chartTop, chartBottom   = 14.0, 34.0
)

// scale maps connections, on a logarithmic axis, and rates to pixels.
type scale struct{ octaves, top float64 }

func (s scale) x(n float64) float64 {
	return chartLeft + math.Log2(max(n, 1))/s.octaves*(chartWidth-chartLeft-chartRight)
}

func (s scale) y(rate float64) float64 {
	return chartHeight - chartBottom - rate/s.top*(chartHeight-chartTop-chartBottom)
}

func px(v float64) string { return fmt.Sprintf("%.1f", v) }

// drawSweep lays the chart out; nil without two points.
func drawSweep(r *diagnose.Report) *sweep {
	if len(r.Sweep) < 2 || r.Ceiling <= 0 || r.Check() != nil {
		return nil
	}
	last := float64(r.Sweep[len(r.Sweep)-1].Connections)
	top := r.Ceiling
	if l := r.Evidence.Law; l != nil { // the line is shown if it is not far beyond what was measured
		for n := 1.0; n <= last; n *= math.Sqrt2 {
			top = max(top, min(l.At(n), 1.5*r.Ceiling))
		}
	}
	step := tick(top)
	s := scale{math.Max(1, math.Log2(last)), step * math.Ceil(top/step+0.01)}
	out := &sweep{}
	for i := range int(s.top/step+0.5) + 1 {
		v := step * float64(i)
		y := s.y(v)
		out.Grid = append(out.Grid, segment{px(chartLeft), px(y), px(chartWidth - chartRight), px(y)})
		out.Labels = append(out.Labels, label{px(chartLeft - 8), px(y + 4), report.PerSecond(v), "end"})
	}
	for n := 1.0; n <= last*1.001; n *= 2 {
		out.Labels = append(out.Labels, label{px(s.x(n)), px(chartHeight - 12), fmt.Sprint(n), "middle"})
	}
	for _, p := range r.Sweep {
		text := fmt.Sprintf("%d connections: %s/s, p99 %s", p.Connections, report.PerSecond(p.Rate), duration(p.P99))
		out.Dots = append(out.Dots, dot{px(s.x(float64(p.Connections))), px(s.y(p.Rate)), text, p.Valid})
	}
	if r.Evidence.Law != nil {
		var points []string
		for i := range 81 {
			n := math.Exp2(s.octaves * float64(i) / 80)
			points = append(points, px(s.x(n))+","+px(s.y(min(r.Evidence.Law.At(n), s.top))))
		}
		out.Law = strings.Join(points, " ")
	}
	return out
}

// tick returns the distance of four to eight grid lines up to a value: 1, 2 or 5 times a power
// of ten.
func tick(top float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(top/4)))
	for _, m := range []float64{1, 2, 5, 10} {
		if top/(m*power) <= 8 {
			return m * power
		}
	}
	return 10 * power
}
