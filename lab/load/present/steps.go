package present

import (
	"fmt"
	"time"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/results"
)

// Step is the result of a step of an open loop with stages. Due is the sum of Right, Failed and
// Unfinished; the steps add up to the window.
type Step struct {
	From  float64 `json:"from_seconds"` // of the window
	To    float64 `json:"to_seconds"`
	Begin float64 `json:"begin_per_second"` // requested arrivals at From, without bursts
	End   float64 `json:"end_per_second"`   // the same at To

	Asked      float64 `json:"asked_per_second"`    // arrivals that were due, mean
	Achieved   float64 `json:"achieved_per_second"` // right answers received in the step
	Answered   uint64  `json:"answered"`            // count of the same answers
	Due        uint64  `json:"due"`                 // arrivals
	Right      uint64  `json:"right"`               // of Due: answered right, at any time
	Failed     uint64  `json:"failed"`              // of Due
	Unfinished uint64  `json:"unfinished"`          // of Due: without an answer when the run ended

	Latency   results.Latency `json:"latency"`              // response times of Right and Unfinished
	ServerCPU *float64        `json:"server_cpu,omitempty"` // CPUs in use, mean; absent if unknown
}

// Errors returns the number of arrivals of the step that failed or got no answer.
func (s *Step) Errors() uint64 { return s.Failed + s.Unfinished }

// FillSteps adds the results of a plan's steps to a document that Fill has filled. window is its
// planned length. Steps after the end of a shorter window are left out.
func (d *Document) FillSteps(plan *arrive.Plan, window time.Duration, counts []spec.Step) error {
	if plan == nil || len(counts) == 0 {
		return nil
	}
	list := plan.Steps(window)
	short := d.Partial != "" || d.Config.Requests > 0 // the window may be shorter than planned
	if d.Config.Requests > 0 && len(counts) < len(list) {
		list = list[:len(counts)]
	}
	if len(list) != len(counts) {
		return fmt.Errorf("the generator reports %d steps, and the plan has %d: use workers of the same version", len(counts), len(list))
	}
	for i, at := range list {
		from, to := at.From.Seconds(), at.To.Seconds()
		if short {
			to = min(to, d.Seconds)
		}
		if to <= from {
			break
		}
		c := counts[i]
		latency, err := results.ParseLatency(c.Histogram)
		if err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		s := Step{
			From: from, To: to, Begin: at.Begin, End: at.End, Latency: latency,
			Due: c.Right + c.Failed + c.Unfinished, Right: c.Right, Failed: c.Failed, Unfinished: c.Unfinished,
			Answered: c.Answered, Achieved: float64(c.Answered) / (to - from), ServerCPU: d.serverCPU(from, to),
		}
		if full := at.To.Seconds() - from; full > to-from {
			s.End = at.Begin + (at.End-at.Begin)*(to-from)/full
		}
		s.Asked = float64(s.Due) / (to - from)
		if len(d.Config.Percentiles) > 0 {
			s.Latency.AddPercentiles(d.Config.Percentiles)
		}
		d.Steps = append(d.Steps, s)
	}
	return nil
}

// serverCPU returns the mean of the server's CPUs in use between two times of the window.
func (d *Document) serverCPU(from, to float64) *float64 {
	if d.Server == nil {
		return nil
	}
	used, seconds, last := 0.0, 0.0, 0.0
	for i := range d.Series {
		p := &d.Series[i]
		if p.T <= 0 {
			continue
		}
		if common := min(p.T, to) - max(last, from); common > 0 {
			used, seconds = used+common*p.ServerCPU, seconds+common
		}
		last = p.T
	}
	if seconds == 0 {
		return nil
	}
	used /= seconds
	return &used
}

// Time returns the period of the step, as 30s–1m30s.
func (s *Step) Time() string {
	moment := func(v float64) string {
		return time.Duration(v * float64(time.Second)).Round(time.Millisecond).String()
	}
	return moment(s.From) + "–" + moment(s.To)
}

// Rates returns the requested rate, as 0→1.00k/s, or 500/s if it was constant.
func (s *Step) Rates() string {
	if s.Begin == s.End {
		return perSecond(s.End) + "/s"
	}
	return perSecond(s.Begin) + "→" + perSecond(s.End) + "/s"
}

func perSecond(rate float64) string {
	if rate == 0 {
		return "0"
	}
	return report.PerSecond(rate)
}

const (
	stepTime     = 15 // widths of the columns of the table of steps
	stepRate     = 14
	stepFigure   = 10
	stepPercents = 3
	stepRows     = 40 // maximum rows of the table on a terminal; the JSON has all
)

// steps writes the table of the steps of stages.
func (s *summary) steps(d *Document) {
	if len(d.Steps) == 0 {
		return
	}
	percents := d.targetPercents()
	percents = percents[:min(len(percents), stepPercents)]
	columns := []screen.Column{
		{Head: "step", Width: stepTime}, {Head: "rate", Width: stepRate, Left: true}, {Head: "asked", Width: stepFigure}, {Head: "achieved", Width: stepFigure},
	}
	for _, p := range percents {
		columns = append(columns, screen.Column{Head: results.PercentileName(p), Width: stepFigure})
	}
	table := screen.NewTable(append(columns, screen.Column{Head: "errors", Width: stepFigure}, screen.Column{Head: "CPU", Width: stepFigure})...)
	for i := range d.Steps[:min(len(d.Steps), stepRows)] {
		t := &d.Steps[i]
		cells := []string{t.Time(), t.Rates(), report.PerSecond(t.Asked) + "/s", report.PerSecond(t.Achieved) + "/s"}
		for _, p := range percents {
			cells = append(cells, report.Quantile(t.Latency.Percentile(p), " "))
		}
		cpu := "–"
		if t.ServerCPU != nil {
			cpu = fmt.Sprintf("%.2f", *t.ServerCPU)
		}
		table.Row(append(cells, s.failed(t.Errors()), cpu)...)
	}
	s.WriteString(table.Print(s.screen))
	if n := len(d.Steps) - stepRows; n > 0 {
		s.WriteString(fmt.Sprintf("and %d more, see --json\n", n))
	}
	s.WriteString("\n")
}
