package export

import (
	"slices"
	"strings"
	"time"
)

// kind is the type of a metric.
type kind uint8

const (
	gauge     kind = iota
	counter        // never decreases
	histogram      // counts of latencies, which never decrease
)

// metric describes a series by the conventions of OpenTelemetry; other formats derive their
// names from it.
type metric struct {
	name string // redline.latency
	unit string // in UCUM: s, By, {request}/s; empty: none
	kind kind
	help string
}

// label is a label of a sample, in addition to those of all samples. Its name has dots.
type label struct{ name, value string }

// sample is a value of a metric.
type sample struct {
	*metric
	labels []label
	value  float64
	counts *counts // histograms only; they have no value
}

// snapshot holds all metrics at one time. It is immutable once it is made.
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

// underscored returns the name for Prometheus and InfluxDB, with the unit: redline.requests
// becomes redline_requests_total. OpenTelemetry specifies the conversion, so a metric has the
// same name in all outputs.
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

// flat returns the name of a label without dots.
func (l label) flat() string { return strings.ReplaceAll(l.name, ".", "_") }

// grouped calls each with the samples of several snapshots by metric, in the order in which the
// metrics first occur.
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

// placed is a sample with its snapshot.
type placed struct {
	in *snapshot
	*sample
}

// all returns all labels, those common to all samples first.
func (p placed) all() []label { return slices.Concat(p.in.common, p.labels) }
