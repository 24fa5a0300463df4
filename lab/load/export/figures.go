package export

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/results"
)

// The metrics during the run. Counters cover the window, as the result does: the warm-up has
// gauges only.
var (
	requests = &metric{"redline.requests", "{request}", counter, "Right answers in the window, or events of streams."}
	failures = &metric{"redline.errors", "{error}", counter, "Errors in the window, by kind."}
	received = &metric{"redline.received", "By", counter, "Bytes that the generator received in the window."}
	sent     = &metric{"redline.sent", "By", counter, "Bytes that the generator sent in the window."}
	latency  = &metric{"redline.latency", "s", histogram, "Latencies in the window; response times in an open loop, delays of streams. The sum is an estimate from the buckets."}

	window    = &metric{"redline.window", "", gauge, "1 during the window; 0 before it, in the warm-up, and after it."}
	achieved  = &metric{"redline.rate.achieved", "{request}/s", gauge, "Right answers a second since the last point."}
	asked     = &metric{"redline.rate.asked", "{request}/s", gauge, "Planned arrivals a second of an open loop since the last point."}
	quantile  = &metric{"redline.latency.quantile", "s", gauge, "Quantile of the latencies since the last point."}
	lag       = &metric{"redline.send_lag.quantile", "s", gauge, "Quantile of the delay with which an open loop sent its requests since the last point."}
	waiting   = &metric{"redline.waiting", "{request}", gauge, "Arrivals of an open loop that are due and not sent."}
	conns     = &metric{"redline.connections", "{connection}", gauge, "Connections that the run was asked to keep open."}
	standing  = &metric{"redline.subscribers", "{subscriber}", gauge, "Subscribers that are connected."}
	gap       = &metric{"redline.gap.quantile", "s", gauge, "Quantile of the time between two events of a subscriber since the last point."}
	missed    = &metric{"redline.events.missed", "{event}", counter, "Ids that subscribers missed in the window."}
	doubled   = &metric{"redline.events.duplicated", "{event}", counter, "Ids that subscribers received again in the window."}
	reconnect = &metric{"redline.reconnects", "{reconnect}", counter, "Subscribers that reconnected in the window."}

	generatorCPU = &metric{"redline.generator.cpu", "{cpu}", gauge, "CPUs that the generator used since the last point; only with one generator."}
	serverCPU    = &metric{"redline.server.cpu", "{cpu}", gauge, "CPUs that the server's processes used since the last point."}
	serverMemory = &metric{"redline.server.memory", "By", gauge, "Resident memory of the server's processes."}
	threads      = &metric{"redline.server.threads", "{thread}", gauge, "Threads of the server's processes."}
	files        = &metric{"redline.server.open_files", "{file}", gauge, "Open files of the server's processes."}
)

// bounds are the upper bounds of the buckets of a histogram, in seconds: two per octave from 16
// microseconds to 67 seconds. They are edges of the counts of points.
var bounds = func() (b []float64) {
	for i := firstEdge; i <= lastEdge; i += edgeStep {
		b = append(b, results.HeatFloor(i).Seconds())
	}
	return b
}()

const (
	firstEdge = 16 // bucket of results.HeatBucket that begins there
	lastEdge  = 104
	edgeStep  = 2
)

// counts holds the counts of a histogram.
type counts struct {
	buckets []uint64 // one more than bounds; not cumulative
	count   uint64
	sum     float64 // seconds
}

// add adds the counts of a point.
func (c *counts) add(heat [][2]uint64) {
	for _, h := range heat {
		if h[0] >= results.HeatBuckets {
			continue
		}
		i := int(h[0])
		at := 0
		if i >= firstEdge {
			at = min((i-firstEdge)/edgeStep+1, len(bounds))
		}
		c.buckets[at] += h[1]
		c.count += h[1]
		c.sum += float64(h[1]) * (results.HeatFloor(i) + results.HeatFloor(i+1)).Seconds() / 2
	}
}

// totals holds the counts of the windows so far.
type totals struct {
	requests, received, sent    uint64
	missed, doubled, reconnects uint64
	errors                      map[string]uint64 // by kind
	latency                     counts
}

// add adds a point of a window.
func (t *totals) add(p *present.Point) {
	t.requests += p.Counted.Requests
	t.received += p.Counted.BytesIn
	t.sent += p.Counted.BytesOut
	for kind, n := range p.Counted.Kinds {
		t.errors[kind] += n
	}
	if h := p.Stream; h != nil {
		t.missed += h.Missed
		t.doubled += h.Duplicated
		t.reconnects += h.Reconnects
	}
	t.latency.add(p.Heat)
}

// addTo adds the counters to a snapshot.
func (t *totals) addTo(s *snapshot, streams bool) {
	s.add(requests, float64(t.requests))
	for _, kind := range slices.Sorted(maps.Keys(t.errors)) {
		s.add(failures, float64(t.errors[kind]), label{errorType, kind})
	}
	s.add(received, float64(t.received))
	s.add(sent, float64(t.sent))
	if streams {
		s.add(missed, float64(t.missed))
		s.add(doubled, float64(t.doubled))
		s.add(reconnect, float64(t.reconnects))
	}
	c := t.latency
	c.buckets = slices.Clone(c.buckets)
	s.samples = append(s.samples, sample{metric: latency, counts: &c})
}

const errorType = "error.type" // the attribute's name in OpenTelemetry

// quantileOf returns the label of a quantile.
func quantileOf(q float64) label {
	return label{"quantile", strconv.FormatFloat(q, 'f', -1, 64)}
}

// addPoint adds the gauges of a point to a snapshot. last is the time of the previous point, in
// seconds since the window began.
func addPoint(s *snapshot, d *present.Document, p *present.Point, plan *arrive.Plan, last float64) {
	inWindow := 0.0
	if p.T > 0 {
		inWindow = 1
	}
	s.add(window, inWindow)
	s.add(achieved, p.Rate)
	if plan != nil {
		if p.T <= 0 || p.T > last {
			s.add(asked, present.AskedBetween(plan, last, p.T))
		}
		s.add(lag, p.SendLag/1e6, quantileOf(0.99))
		s.add(waiting, float64(p.Waiting))
	}
	if len(p.Heat) > 0 { // without answers there is no quantile
		s.add(quantile, p.P50Us/1e6, quantileOf(0.5))
		s.add(quantile, p.P99Us/1e6, quantileOf(0.99))
	}
	s.add(conns, float64(d.Config.Connections))
	if h := p.Stream; h != nil {
		s.add(standing, float64(h.Standing))
		s.add(gap, h.GapP50/1e6, quantileOf(0.5))
		s.add(gap, h.GapP99/1e6, quantileOf(0.99))
	}
	if p.GeneratorCPU != nil {
		s.add(generatorCPU, *p.GeneratorCPU)
	}
	if d.Server != nil {
		s.add(serverCPU, p.ServerCPU)
		s.add(serverMemory, float64(p.RSSBytes))
		s.add(threads, float64(p.Threads))
		s.add(files, float64(p.OpenFiles))
	}
}

// epsilon is the minimum interval of two snapshots: receivers store one value per millisecond.
const epsilon = time.Millisecond
