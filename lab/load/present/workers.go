package present

import (
	"fmt"
	"slices"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/results"
)

// Worker is one of several generators of a run. The document is their sum.
type Worker = results.Worker

// FillWorker adds a worker's own result to w, and judges it like the result of a separate run.
// target is its part of the requested rate.
func (d *Document) FillWorker(w *Worker, r *spec.Result, target float64) error {
	part := Document{Config: d.Config}
	if d.Server != nil {
		server := *d.Server
		part.Server = &server
	}
	if d.Stream != nil {
		part.Stream = &Stream{Config: d.Stream.Config}
	}
	if err := part.Fill(r, target, nil); err != nil {
		return err
	}
	w.Gates, w.Errors = part.Gates, r.Errors
	w.Sent, w.Answered, w.CPUUtilisation = r.Sent, r.Answered, part.Generator.CPUUtilisation
	if part.Open != nil {
		w.SendLagP99, w.PacingP99 = part.Open.SendLag.P99, part.Open.Pacing.P99
	}
	return nil
}

// AddWorkers adds the workers to a document that is the sum of theirs, their failures, which
// make it invalid, and notes. A gate that one worker fails is failed, unless the gate already
// judges the sum.
func (d *Document) AddWorkers(workers []Worker, failures, notes []string) {
	d.Workers, d.Notes, d.Config.Workers = workers, append(d.Notes, notes...), len(workers)
	all := results.Gate{Name: "workers", Passed: len(failures) == 0, Value: float64(len(workers)), Limit: float64(len(workers))}
	for _, w := range workers {
		if w.Lost != "" {
			all.Value--
		}
	}
	gates := []results.Gate{all}
	for i, text := range failures {
		one := all
		one.Text = text
		gates = append(gates[:i], one)
	}
	failed := d.Failed()
	gates = append(gates, d.Gates...)
	for _, w := range workers {
		for _, g := range w.Gates {
			about := func(s results.Gate) bool { return s.Name == g.Name }
			if g.Passed || slices.ContainsFunc(failed, about) || g.Name == "errors" && !slices.ContainsFunc(d.Gates, about) {
				continue
			}
			g.Text = fmt.Sprintf("worker %d: %s", w.Index, g.Text)
			gates = append(gates, g)
		}
	}
	d.Gates, d.Valid = gates, results.Valid(gates)
}

// nameWidth is the width of the table's first column.
const nameWidth = 20

// workers writes a table with a line for each worker.
func (s *summary) workers(d *Document) {
	if len(d.Workers) == 0 {
		return
	}
	s.WriteString("\n")
	open := d.Open != nil
	apart := slices.ContainsFunc(d.Workers, func(w Worker) bool { return w.Host != d.Workers[0].Host })
	columns := []screen.Column{{Head: "worker", Width: nameWidth}}
	heads := []string{"connections", "rate", "CPU", "errors"}
	if open {
		heads = append(heads, "send lag", "pacing")
	}
	for _, head := range heads {
		columns = append(columns, screen.Column{Head: head, Width: 13})
	}
	table := screen.NewTable(columns...)
	for _, w := range d.Workers {
		name := fmt.Sprint(w.Index)
		if apart {
			name += " " + report.Line(w.Host)
		}
		cells := []string{
			fmt.Sprint(w.Connections), report.PerSecond(w.RequestsPerSecond) + "/s",
			report.Percent(w.CPUUtilisation), s.failed(results.CountErrors(w.Errors)),
		}
		if open {
			cells = append(cells, report.Quantile(w.SendLagP99, " "), report.Quantile(w.PacingP99, " "))
		}
		if w.Lost != "" {
			name = fmt.Sprintf("%d lost", w.Index)
			for i := 2; i < len(cells); i++ {
				cells[i] = "–"
			}
		}
		table.Row(append([]string{screen.Snip(name, nameWidth)}, cells...)...)
	}
	s.WriteString(table.Print(s.screen))
}
