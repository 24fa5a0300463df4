package output

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/redline-go/redline/lab/watch"
)

const (
	scrapeTimeout = 10 * time.Second // for a request, and for its answer
	freshFor      = 5 * time.Second  // figures that were not read for so long are not served
)

type Metrics struct {
	listener net.Listener
	server   *http.Server
	serves   sync.WaitGroup
	now      atomic.Pointer[metrics]
}

// metrics is the state that is served; it never changes.
type metrics struct {
	values, totals map[string]float64
	read           map[string]float64 // time of each value, seconds
	crossed        map[string]float64
}

// Listen begins to serve on a TCP address. The caller must close the Metrics.
func Listen(addr string, pid int, extra []watch.Figure) (*Metrics, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("serve metrics: %w", err)
	}
	m := &Metrics{listener: ln}
	m.now.Store(&metrics{})
	registry := prometheus.NewRegistry()
	if err := registry.Register(&gatherer{m: m, pid: strconv.Itoa(pid), figures: append(watch.Figures(), extra...)}); err != nil {
		return nil, errors.Join(fmt.Errorf("serve metrics: %w", err), ln.Close())
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	m.server = &http.Server{Handler: mux, ReadHeaderTimeout: scrapeTimeout, ReadTimeout: scrapeTimeout, WriteTimeout: 2 * scrapeTimeout, IdleTimeout: time.Minute}
	m.serves.Go(func() { _ = m.server.Serve(ln) }) // until it is closed
	return m, nil
}

// Addr returns the address that is served.
func (m *Metrics) Addr() net.Addr { return m.listener.Addr() }

// Event serves an event. One goroutine calls it.
func (m *Metrics) Event(e watch.Event) error {
	old := m.now.Load()
	next := &metrics{values: map[string]float64{}, totals: old.totals, read: map[string]float64{}, crossed: map[string]float64{}}
	for name, n := range old.crossed {
		next.crossed[name] = n
	}
	for f, t := range old.read {
		next.values[f], next.read[f] = old.values[f], t
	}
	switch {
	case e.Crossed != nil:
		next.crossed[e.Crossed.Mark] = 1
	case e.Sample != nil:
		next.totals = map[string]float64{}
		for f, v := range old.totals {
			next.totals[f] = v
		}
		for f, v := range e.Sample.Totals {
			next.totals[f] = v
		}
		for f, v := range e.Sample.Values {
			next.values[f], next.read[f] = v, e.Sample.T
		}
		for f, t := range next.read {
			if e.Sample.T-t > freshFor.Seconds() {
				delete(next.read, f)
				delete(next.values, f)
			}
		}
	}
	m.now.Store(next)
	return nil
}

// Close stops serving.
func (m *Metrics) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := m.server.Shutdown(ctx)
	if err != nil {
		err = m.server.Close()
	}
	m.serves.Wait()
	return err
}

// gatherer adapts the figures to the library.
type gatherer struct {
	m       *Metrics
	pid     string
	figures []watch.Figure
}

// Describe describes nothing: the metrics depend on what can be read.
func (g *gatherer) Describe(chan<- *prometheus.Desc) {}

func (g *gatherer) Collect(out chan<- prometheus.Metric) {
	now := g.m.now.Load()
	for _, f := range g.figures {
		values, kind := now.values, prometheus.GaugeValue
		if f.Counter {
			values, kind = now.totals, prometheus.CounterValue
		}
		labels := []string{"pid"}
		if _, label, ok := watch.Family(f.Name); ok {
			labels = append(labels, label)
		}
		desc := prometheus.NewDesc(MetricName(f), f.Meaning+" ("+f.Source+")", labels, nil)
		for _, v := range watch.In(f, values) {
			of := append([]string{g.pid}, v.Member)[:len(labels)]
			out <- prometheus.MustNewConstMetric(desc, kind, v.Value, of...)
		}
	}
	marks := prometheus.NewDesc("redline_watch_mark_crossed", "1: the mark was crossed since the watch began", []string{"pid", "mark"}, nil)
	for name, n := range now.crossed {
		out <- prometheus.MustNewConstMetric(marks, prometheus.GaugeValue, n, g.pid, name)
	}
}

// MetricName returns the name of a figure's metric. A counter has its total, not its rate.
func MetricName(f watch.Figure) string {
	name, _, _ := watch.Family(f.Name)
	name = "redline_watch_" + name
	switch {
	case f.Counter && (f.Unit == watch.Cores || f.Unit == watch.Share):
		return name + "_seconds_total"
	case f.Counter && f.Unit == watch.ByteRate:
		return name + "_bytes_total"
	case f.Counter:
		return name + "_total"
	case f.Unit == watch.Seconds:
		return name + "_seconds"
	}
	return name
}
