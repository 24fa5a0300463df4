package export

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	otlpDefault = "http://localhost:4318"
	otlpPath    = "/v1/metrics"
	scopeName   = "redline.load"
)

// variable returns the value of a variable that OpenTelemetry specifies for exporters: the one
// for metrics, or the one for all signals.
func variable(env func(string) string, name string) (value, from string) {
	for _, from = range []string{"OTEL_EXPORTER_OTLP_METRICS_" + name, "OTEL_EXPORTER_OTLP_" + name} {
		if value = env(from); value != "" {
			return value, from
		}
	}
	return "", from
}

// parseOTLP completes an output from the environment. It adds the path /v1/metrics to a URL,
// unless it is present, or the URL comes from the variable for metrics.
func parseOTLP(o Output, env func(string) string) (Output, error) {
	whole := false
	if o.where == "" {
		where, from := variable(env, "ENDPOINT")
		o.where, whole = cmp.Or(where, otlpDefault), where != "" && strings.Contains(from, "METRICS")
	}
	if protocol, from := variable(env, "PROTOCOL"); protocol != "" && protocol != "http/json" && protocol != "http/protobuf" {
		return o, fmt.Errorf("otlp: %s is not http/json: figures are sent over HTTP, as JSON; unset it, and name the receiver's port for HTTP, which is 4318", from)
	}
	var err error
	if o.url, err = parseURL(o.format, o.where, otlpDefault); err != nil {
		return o, err
	}
	if !whole && !strings.HasSuffix(o.url.Path, otlpPath) {
		o.url = o.url.JoinPath(otlpPath)
	}
	return o, nil
}

// otlp sends snapshots by OpenTelemetry's protocol over HTTP, as JSON.
type otlp struct {
	*poster
	out      Output
	resource otlpResource
	scope    otlpScope
	zip      bool
}

func newOTLP(o Output, tool string) (*otlp, error) {
	timeout, conf := sendTimeout, tlsFiles{}
	if text, from := variable(os.Getenv, "TIMEOUT"); text != "" {
		ms, err := strconv.ParseUint(text, 10, 31)
		if err != nil || ms == 0 {
			return nil, fmt.Errorf("%s=%s: want a number of milliseconds", from, text)
		}
		timeout = time.Duration(ms) * time.Millisecond
	}
	conf.roots, _ = variable(os.Getenv, "CERTIFICATE")
	conf.certificate, _ = variable(os.Getenv, "CLIENT_CERTIFICATE")
	conf.key, _ = variable(os.Getenv, "CLIENT_KEY")
	trust, err := conf.load()
	if err != nil {
		return nil, err
	}
	w := &otlp{poster: newPoster(o.url, tool, timeout, trust), out: o, scope: otlpScope{scopeName, tool}}
	text, from := variable(os.Getenv, "HEADERS")
	more, err := headersOf(from, text)
	if err != nil {
		return nil, err
	}
	w.use(more)
	w.header.Set("Content-Type", "application/json")
	switch text, from := variable(os.Getenv, "COMPRESSION"); text {
	case "", "none":
	case "gzip":
		w.zip = true
		w.header.Set("Content-Encoding", "gzip")
	default:
		return nil, fmt.Errorf("%s=%s: want gzip or none", from, text)
	}
	w.resource.Attributes, err = resourceOf(os.Getenv, tool)
	return w, err
}

// resourceOf returns the attributes of the generator, including those of the environment.
func resourceOf(env func(string) string, tool string) (list []otlpAttribute, err error) {
	const from = "OTEL_RESOURCE_ATTRIBUTES"
	given := map[string]string{}
	fields, err := pairsOf(from, env(from))
	if err != nil {
		return nil, err
	}
	for _, f := range fields {
		given[f.name] = f.value
		list = append(list, attributeOf(f))
	}
	for _, l := range []label{
		{"service.name", cmp.Or(env("OTEL_SERVICE_NAME"), given["service.name"], "redline")},
		{"service.version", tool},
		{"service.instance.id", hostname()},
		{"host.name", hostname()},
	} {
		_, is := given[l.name]
		switch {
		case is && l.name == "service.name":
			for i := range list {
				if list[i].Key == l.name {
					list[i] = attributeOf(l)
				}
			}
		case !is && l.value != "":
			list = append(list, attributeOf(l))
		}
	}
	return list, nil
}

// String returns the output without credentials.
func (w *otlp) String() string { return w.out.String() }

// The messages, with only the fields in use. 64-bit integers are strings in their JSON.
type (
	otlpRequest struct {
		ResourceMetrics []otlpResourceMetrics `json:"resourceMetrics"`
	}
	otlpResourceMetrics struct {
		Resource     otlpResource       `json:"resource"`
		ScopeMetrics []otlpScopeMetrics `json:"scopeMetrics"`
	}
	otlpResource struct {
		Attributes []otlpAttribute `json:"attributes"`
	}
	otlpScopeMetrics struct {
		Scope   otlpScope    `json:"scope"`
		Metrics []otlpMetric `json:"metrics"`
	}
	otlpScope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	otlpMetric struct {
		Name        string    `json:"name"`
		Description string    `json:"description,omitempty"`
		Unit        string    `json:"unit,omitempty"`
		Gauge       *otlpData `json:"gauge,omitempty"`
		Sum         *otlpData `json:"sum,omitempty"`
		Histogram   *otlpData `json:"histogram,omitempty"`
	}
	otlpData struct {
		DataPoints  []otlpPoint `json:"dataPoints"`
		Temporality int         `json:"aggregationTemporality,omitempty"`
		Monotonic   bool        `json:"isMonotonic,omitempty"`
	}
	otlpPoint struct {
		Attributes []otlpAttribute `json:"attributes"`
		Start      string          `json:"startTimeUnixNano,omitempty"`
		Time       string          `json:"timeUnixNano"`
		Double     *float64        `json:"asDouble,omitempty"`
		Int        string          `json:"asInt,omitempty"`
		Count      string          `json:"count,omitempty"`
		Sum        *float64        `json:"sum,omitempty"`
		Buckets    []string        `json:"bucketCounts,omitempty"`
		Bounds     []float64       `json:"explicitBounds,omitempty"`
	}
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpValue struct {
		String string `json:"stringValue"`
	}
	otlpAnswer struct {
		Partial struct {
			Rejected json.RawMessage `json:"rejectedDataPoints"`
			Message  string          `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
)

// cumulative is the temporality of values that accumulate from the start.
const cumulative = 2

func attributeOf(l label) otlpAttribute { return otlpAttribute{l.name, otlpValue{l.value}} }

func (w *otlp) write(ctx context.Context, list []*snapshot) error {
	body, err := json.Marshal(w.encode(list))
	if err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	if w.zip {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(body); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		body = b.Bytes()
	}
	text, err := w.post(ctx, body)
	if err != nil {
		return err
	}
	var answer otlpAnswer
	if json.Unmarshal(text, &answer) != nil { // it may be empty, or not JSON
		return nil
	}
	if n := strings.Trim(string(answer.Partial.Rejected), `"`); n != "" && n != "0" {
		return fmt.Errorf("%w: %s values%s", errRefused, n, w.excerpt([]byte(answer.Partial.Message)))
	}
	return nil
}

// encode returns the message for some snapshots.
func (w *otlp) encode(list []*snapshot) otlpRequest {
	in := otlpScopeMetrics{Scope: w.scope}
	grouped(list, func(m *metric, of []placed) {
		data := &otlpData{}
		for _, p := range of {
			data.DataPoints = append(data.DataPoints, otlpPointOf(p))
		}
		out := otlpMetric{Name: m.name, Description: m.help, Unit: m.unit}
		switch m.kind {
		case gauge:
			out.Gauge = data
		case counter:
			data.Temporality, data.Monotonic = cumulative, true
			out.Sum = data
		case histogram:
			data.Temporality = cumulative
			out.Histogram = data
		}
		in.Metrics = append(in.Metrics, out)
	})
	return otlpRequest{[]otlpResourceMetrics{{Resource: w.resource, ScopeMetrics: []otlpScopeMetrics{in}}}}
}

// otlpPointOf converts a sample.
func otlpPointOf(p placed) otlpPoint {
	out := otlpPoint{Time: strconv.FormatInt(p.in.at.UnixNano(), 10)}
	for _, l := range p.all() {
		out.Attributes = append(out.Attributes, attributeOf(l))
	}
	if p.kind != gauge {
		out.Start = strconv.FormatInt(p.in.start.UnixNano(), 10)
	}
	switch p.kind {
	case gauge:
		out.Double = &p.value
	case counter:
		out.Int = strconv.FormatUint(uint64(p.value), 10)
	case histogram:
		out.Count, out.Sum, out.Bounds = strconv.FormatUint(p.counts.count, 10), &p.counts.sum, bounds
		for _, n := range p.counts.buckets {
			out.Buckets = append(out.Buckets, strconv.FormatUint(n, 10))
		}
	}
	return out
}
