package export

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const scrapeTimeout = 10 * time.Second // for a request, and for its answer

// scraped serves the newest snapshot at /metrics, for Prometheus to scrape.
type scraped struct {
	addr   string
	ln     net.Listener
	server *http.Server
	serves sync.WaitGroup

	now     atomic.Pointer[snapshot]
	result  atomic.Pointer[snapshot] // nil until the run has one
	fetch   sync.Once                // of the result
	fetched chan struct{}            // closed: the result was scraped
}

// String returns the output.
func (s *scraped) String() string { return toPrometheus + "=" + s.addr }

// open starts to listen.
func (s *scraped) open(_ context.Context, first *snapshot) (err error) {
	if s.ln, err = net.Listen("tcp", s.addr); err != nil {
		return err
	}
	s.now.Store(first)
	s.fetched = make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", s.serve)
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: scrapeTimeout, ReadTimeout: scrapeTimeout, WriteTimeout: 2 * scrapeTimeout, IdleTimeout: time.Minute}
	s.serves.Go(func() { _ = s.server.Serve(s.ln) }) // until it is closed
	return nil
}

// serve answers with the newest snapshot.
func (s *scraped) serve(w http.ResponseWriter, r *http.Request) {
	now := s.now.Load()
	registry := prometheus.NewRegistry()
	if err := registry.Register(collected{now}); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP(w, r)
	if now == s.result.Load() && r.Context().Err() == nil {
		s.fetch.Do(func() { close(s.fetched) })
	}
}

// collected adapts a snapshot to the library.
type collected struct{ now *snapshot }

// Describe describes nothing: the metrics depend on the run.
func (c collected) Describe(chan<- *prometheus.Desc) {}

// Collect converts the snapshot to metrics.
func (c collected) Collect(out chan<- prometheus.Metric) {
	grouped([]*snapshot{c.now}, func(m *metric, of []placed) {
		for _, p := range of {
			var names, values []string
			for _, l := range p.all() {
				names, values = append(names, l.flat()), append(values, l.value)
			}
			desc := prometheus.NewDesc(m.underscored(), m.help, names, nil)
			one, err := constant(desc, p, values)
			if err != nil {
				one = prometheus.NewInvalidMetric(desc, err)
			}
			out <- one
		}
	})
}

// constant converts a sample to a metric of the library.
func constant(desc *prometheus.Desc, p placed, values []string) (prometheus.Metric, error) {
	switch p.kind {
	case histogram:
		below, buckets := uint64(0), make(map[float64]uint64, len(bounds))
		for i, bound := range bounds {
			below += p.counts.buckets[i]
			buckets[bound] = below
		}
		return prometheus.NewConstHistogramWithCreatedTimestamp(desc, p.counts.count, p.counts.sum, buckets, p.in.start, values...)
	case counter:
		return prometheus.NewConstMetricWithCreatedTimestamp(desc, prometheus.CounterValue, p.value, p.in.start, values...)
	}
	return prometheus.NewConstMetric(desc, prometheus.GaugeValue, p.value, values...)
}

// point makes a snapshot the newest one.
func (s *scraped) point(now *snapshot) { s.now.Store(now) }

// end serves the last snapshot until close.
func (s *scraped) end(_ context.Context, last *snapshot) (int, error, error) {
	if last != nil {
		s.result.Store(last) // first: serve compares what it sent with it
		s.now.Store(last)
	}
	return 0, nil, nil
}

// linger waits until the last snapshot was scraped, or ctx ends. Without a last snapshot it
// returns immediately.
func (s *scraped) linger(ctx context.Context) {
	if s.result.Load() == nil {
		return
	}
	select {
	case <-s.fetched:
	case <-ctx.Done():
	}
}

// close shuts the server down, after answers in progress.
func (s *scraped) close() error {
	if s.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := s.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) { // a client reads slowly, or not at all
		err = s.server.Close()
	}
	s.serves.Wait()
	if err != nil {
		return fmt.Errorf("close %s: %w", s, err)
	}
	return nil
}
