package export

import (
	"slices"
	"strings"
	"time"
)

// kind is how values of a metric behave.
type kind uint8

const (
	gauge     kind = iota
	counter        // never decreases
	histogram      // counts of latencies, which never decrease
)

// metric is what a series is called, by the conventions of OpenTelemetry; other formats
// derive their names from it.
type metric struct {
	name string // redline.latency
	unit string // as UCUM has it: s, By, {request}/s; empty: none
	kind kind
	help string
}

// label is one of a sample beside those that all samples have. Its name has dots.
type label struct{ name, value string }

// sample is a value of a metric.
type sample struct {
	*metric
	labels []label
	value  float64
	counts *counts // of a histogram, which has no value
}

// snapshot is every metric at a moment. Nobody changes it once it is made.
type snapshot struct {
	at      time.Time
	start   time.Time // of the counters
	common  []label   // of all samples
	samples []sample
}

// add adds a sample.
func (s *snapshot) add(m *metric, value float64, labels ...label) {
	s.samples = append(s.samples, sample{metric: m, labels: labels, value: value})
}

// underscored is the name as Prometheus and InfluxDB have it, with its unit: of
// redline.requests it is redline_requests_total. OpenTelemetry specifies how it is derived,
// so that a metric has the same name whichever way it has taken.
func (m *metric) underscored() string {
	name := strings.ReplaceAll(m.name, ".", "_")
	unit, per, isRate := strings.Cut(m.unit, "/")
	switch unit {
	case "s":
		name += "_seconds"
	case "By":
		name += "_bytes"
	case "1":
		name += "_ratio"
	}
	if isRate && per == "s" {
		name += "_per_second"
	}
	if m.kind == counter {
		name += "_total"
	}
	return name
}

// flat is the name of a label without dots.
func (l label) flat() string { return strings.ReplaceAll(l.name, ".", "_") }

// grouped are the samples of several snapshots by their metric, in the order in which the
// metrics came up.
func grouped(list []*snapshot, each func(m *metric, of []placed)) {
	var order []*metric
	groups := map[*metric][]placed{}
	for _, s := range list {
		for i := range s.samples {
			m := s.samples[i].metric
			if groups[m] == nil {
				order = append(order, m)
			}
			groups[m] = append(groups[m], placed{s, &s.samples[i]})
		}
	}
	for _, m := range order {
		each(m, groups[m])
	}
}

// placed is a sample with the snapshot that it is in.
type placed struct {
	in *snapshot
	*sample
}

// all are the labels, those that every sample has first.
func (p placed) all() []label { return slices.Concat(p.in.common, p.labels) }
