package present

import (
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/results"
)

// standardPercents are the percentiles that are shown by default.
var standardPercents = []float64{50, 90, 95, 99, 99.9, 99.99}

// Percents returns the percentiles that the tables show, each above 0 and below 100.
func (d *Document) Percents() []float64 {
	if len(d.Config.Percentiles) > 0 {
		return d.Config.Percentiles
	}
	return standardPercents
}

// ChoosePercents selects the percentiles that the tables show, and adds them to the latencies
// of d. An empty list changes nothing.
func (d *Document) ChoosePercents(percents []float64) {
	if len(percents) == 0 {
		return
	}
	d.Config.Percentiles = percents
	for _, l := range d.latencies() {
		l.AddPercentiles(percents)
	}
}

// latencies returns all distributions of d.
func (d *Document) latencies() []*results.Latency {
	list := []*results.Latency{&d.Latency}
	if d.Open != nil {
		list = append(list, &d.Open.Service, &d.Open.SendLag, &d.Open.Pacing)
	}
	if d.Stream != nil {
		list = append(list, &d.Stream.Gap, &d.Stream.Lag)
	}
	if d.TLS != nil {
		list = append(list, &d.TLS.Time)
	}
	for _, l := range []*results.Latency{d.Connects.Time, d.FirstByte} {
		if l != nil {
			list = append(list, l)
		}
	}
	for i := range d.Steps {
		list = append(list, &d.Steps[i].Latency)
	}
	for i := range d.Targets {
		list = append(list, &d.Targets[i].Latency)
	}
	return list
}

const (
	labelWidth   = 12 // of the first column of the table of latencies
	latencyWidth = 10 // of the other columns
)

// named is a row of the table of latencies.
type named struct {
	name    string
	latency results.Latency
}

// tables writes the table of latencies. Percentiles with too few samples are not printed.
func (s *summary) tables(rows []named, percents []float64) {
	columns := []screen.Column{{Width: labelWidth}, {Head: "mean", Width: latencyWidth}}
	for _, p := range percents {
		columns = append(columns, screen.Column{Head: results.PercentileName(p), Width: latencyWidth})
	}
	table := screen.NewTable(append(columns, screen.Column{Head: "max", Width: latencyWidth})...)
	for _, r := range rows {
		cells, worst := []string{r.name, "–"}, "–"
		if r.latency.Count > 0 {
			cells[1], worst = report.Micros(r.latency.MeanUs, " "), report.Micros(r.latency.MaxUs, " ")
		}
		for _, p := range percents {
			cells = append(cells, report.Quantile(r.latency.Percentile(p), " "))
		}
		table.Row(append(cells, worst)...)
	}
	s.WriteString(table.Print(s.screen) + "\n")
}

// targetPercents returns the percentiles of the table of targets, which has less room.
func (d *Document) targetPercents() []float64 {
	if n := len(d.Config.Percentiles); n > 0 {
		return d.Config.Percentiles[:min(n, 5)]
	}
	return []float64{50, 95, 99}
}
