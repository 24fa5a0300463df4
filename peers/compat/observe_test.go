package compat_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// TestPrometheus serves metrics, and measures handlers that flush, copy files and
// hijack through the writers of promhttp.
func TestPrometheus(t *testing.T) {
	compare(t, func(t *testing.T, c carrier, r *report) {
		reg := prometheus.NewRegistry()
		requests := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "requests_total", Help: "Requests."}, []string{"code", "method"})
		sizes := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "response_bytes", Help: "Bytes.", Buckets: []float64{10, 1e3, 1e6}}, nil)
		bodies := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "request_bytes", Help: "Bytes.", Buckets: []float64{200, 1e4}}, nil)
		inFlight := prometheus.NewGauge(prometheus.GaugeOpts{Name: "in_flight", Help: "Requests."})
		reg.MustRegister(requests, sizes, bodies, inFlight)
		var done atomic.Int32
		measured := func(h http.HandlerFunc) http.Handler {
			m := promhttp.InstrumentHandlerInFlight(inFlight, promhttp.InstrumentHandlerCounter(requests,
				promhttp.InstrumentHandlerResponseSize(sizes, promhttp.InstrumentHandlerRequestSize(bodies, h))))
			return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				m.ServeHTTP(w, q)
				done.Add(1)
			})
		}
		next := make(chan string)
		m := http.NewServeMux()
		m.Handle("/metrics", promhttp.InstrumentMetricHandler(reg, promhttp.HandlerFor(reg, promhttp.HandlerOpts{EnableOpenMetrics: true})))
		m.Handle("/echo", measured(func(w http.ResponseWriter, q *http.Request) {
			n, err := copyBack(w, q)
			r.add("%T copied %d, %v", w, n, err)
		}))
		m.Handle("/events", measured(func(w http.ResponseWriter, _ *http.Request) {
			for event := range next {
				fmt.Fprintln(w, event)
				w.(http.Flusher).Flush()
			}
		}))
		m.Handle("/hijack", measured(hijackEcho))
		s := c.start(t, m)
		r.do(t, s, "POST", "/echo", bytes.NewReader(pattern(100_000)))
		r.do(t, s, "PUT", "/echo", strings.NewReader("short"))
		playEvents(t, r, s, "/events", next)
		playHijack(t, r, s, "/hijack", "early\n")
		eventually(t, "the end of four handlers", func() bool { return done.Load() == 4 })
		r.get(t, s, "/metrics")
		r.get(t, s, "/metrics", "Accept: application/openmetrics-text; version=1.0.0")
		r.get(t, s, "/metrics", "Accept-Encoding: gzip")
	})
}

// copyBack answers with the request's body, through io.ReaderFrom if w is one.
func copyBack(w http.ResponseWriter, q *http.Request) (int64, error) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return 0, err
	}
	w.WriteHeader(http.StatusCreated)
	return io.Copy(w, struct{ io.Reader }{bytes.NewReader(body)})
}

// TestOpenTelemetry wraps handlers with otelhttp and looks at its spans.
func TestOpenTelemetry(t *testing.T) {
	compare(t, func(t *testing.T, c carrier, r *report) {
		spans := tracetest.NewSpanRecorder()
		next := make(chan string)
		m := http.NewServeMux()
		m.HandleFunc("POST /echo/{id}", func(w http.ResponseWriter, q *http.Request) {
			n, err := copyBack(w, q)
			r.add("%s copied %d, %v", q.PathValue("id"), n, err)
		})
		m.HandleFunc("GET /fails", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadGateway) })
		m.HandleFunc("GET /events", func(w http.ResponseWriter, _ *http.Request) {
			for event := range next {
				fmt.Fprintln(w, event)
				w.(http.Flusher).Flush()
			}
		})
		m.HandleFunc("GET /hijack", hijackEcho)
		s := c.start(t, otelhttp.NewHandler(m, "service",
			otelhttp.WithTracerProvider(trace.NewTracerProvider(trace.WithSpanProcessor(spans))),
			otelhttp.WithPropagators(propagation.TraceContext{}),
			otelhttp.WithMessageEvents(otelhttp.WriteEvents)))
		const parent = "Traceparent: 00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
		r.do(t, s, "POST", "/echo/7?q=1", bytes.NewReader(pattern(100_000)), parent, "User-Agent: compat")
		r.get(t, s, "/fails", parent)
		r.get(t, s, "/nowhere", parent)
		playEvents(t, r, s, "/events", next)
		playHijack(t, r, s, "/hijack", "early\n")
		eventually(t, "five spans", func() bool { return len(spans.Ended()) == 5 })
		for _, span := range spans.Ended() {
			r.add("%s %v %v, of a trace from afar: %v", span.Name(), span.SpanKind(), span.Status(), span.Parent().IsRemote())
			var attributes []string
			for _, a := range span.Attributes() {
				if !slices.Contains([]attribute.Key{"server.port", "network.peer.port", "client.port"}, a.Key) {
					attributes = append(attributes, fmt.Sprintf("%s=%s", a.Key, a.Value.String()))
				}
			}
			slices.Sort(attributes)
			r.add("  %s", strings.Join(attributes, "\n  "))
			r.add("  %d events", len(span.Events()))
		}
	})
}
