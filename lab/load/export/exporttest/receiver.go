// Package exporttest is a receiver of metrics for tests: it accepts remote write, OTLP as JSON
// and InfluxDB's line protocol, and scrapes as Prometheus does. It decodes them by their
// specifications, and shares no code with package export.
package exporttest

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/snappy"
	"google.golang.org/protobuf/encoding/protowire"
)

// The formats.
const (
	RemoteWrite = "remote-write"
	OTLP        = "otlp"
	InfluxDB    = "influxdb"
)

// Receiver is a handler that accepts metrics. The path selects the format: it ends with
// /api/v1/write, /v1/metrics, or /write. Its methods may be called concurrently.
type Receiver struct {
	mu       sync.Mutex
	last     map[string]map[string]float64 // by format and key
	messages map[string]int                // by format
	samples  map[string]int                // by key, of remote write
	Errors   []error                       // errors of decoding
	Headers  map[string]http.Header        // of the last message, by format
	Queries  map[string]string
}

// New returns an empty receiver.
func New() *Receiver {
	return &Receiver{
		last: map[string]map[string]float64{}, messages: map[string]int{}, samples: map[string]int{},
		Headers: map[string]http.Header{}, Queries: map[string]string{},
	}
}

// ServeHTTP accepts a message.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, err := io.ReadAll(q.Body)
	format := InfluxDB
	into := map[string]float64{}
	if err == nil {
		switch {
		case strings.HasSuffix(q.URL.Path, "/api/v1/write"):
			format = RemoteWrite
			err = r.readRemoteWrite(body, into)
		case strings.HasSuffix(q.URL.Path, "/v1/metrics"):
			format = OTLP
			err = readOTLP(q.Header.Get("Content-Encoding"), body, into)
		default:
			err = ReadInflux(string(body), into)
		}
	}
	if err != nil {
		r.Errors = append(r.Errors, fmt.Errorf("%s: %w", q.URL.Path, err))
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if r.last[format] == nil {
		r.last[format] = map[string]float64{}
	}
	for key, v := range into {
		r.last[format][key] = v
	}
	r.messages[format]++
	r.Headers[format], r.Queries[format] = q.Header, q.URL.RawQuery
	w.WriteHeader(http.StatusNoContent)
}

// Last returns the newest value of each series of a format. The key is the name and the labels,
// as name{a="b"}, without the common ones: job, instance, run and target. Names are those of
// Prometheus in all formats.
func (r *Receiver) Last(format string) map[string]float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last[format]
}

// Samples returns the number of values of a series received by remote write.
func (r *Receiver) Samples(key string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.samples[key]
}

// key returns the key for a name and labels.
func key(name string, labels map[string]string) string {
	var list []string
	for k, v := range labels {
		if !slices.Contains([]string{"__name__", "job", "instance", "run", "target"}, k) {
			list = append(list, fmt.Sprintf("%s=%q", strings.ReplaceAll(k, ".", "_"), v))
		}
	}
	if len(list) == 0 {
		return name
	}
	slices.Sort(list)
	return name + "{" + strings.Join(list, ",") + "}"
}

// readRemoteWrite decodes a WriteRequest.
func (r *Receiver) readRemoteWrite(body []byte, into map[string]float64) error {
	b, err := snappy.Decode(nil, body)
	if err != nil {
		return err
	}
	return fields(b, func(n protowire.Number, series []byte, _ uint64) error {
		if n != 1 {
			return nil
		}
		labels, order := map[string]string{}, []string{}
		var times []int64
		var values []float64
		err := fields(series, func(n protowire.Number, part []byte, _ uint64) error {
			var pair [2]string
			at, value := int64(0), 0.0
			err := fields(part, func(n2 protowire.Number, text []byte, number uint64) error {
				switch {
				case n == 1:
					pair[n2-1] = string(text)
				case n2 == 1:
					value = math.Float64frombits(number)
				default:
					at = int64(number)
				}
				return nil
			})
			if n == 1 {
				labels[pair[0]] = pair[1]
				order = append(order, pair[0])
			} else {
				times, values = append(times, at), append(values, value)
			}
			return err
		})
		if err != nil {
			return err
		}
		if !slices.IsSorted(order) || !slices.IsSorted(times) || len(slices.Compact(slices.Clone(times))) != len(times) {
			return fmt.Errorf("labels %v, times %v: not in order", order, times)
		}
		k := key(labels["__name__"], labels)
		into[k] = values[len(values)-1]
		r.samples[k] += len(values)
		return nil
	})
}

// fields calls f with each field of a message: bytes, or a number.
func fields(b []byte, f func(n protowire.Number, content []byte, number uint64) error) error {
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return protowire.ParseError(size)
		}
		b = b[size:]
		var content []byte
		var number uint64
		switch kind {
		case protowire.BytesType:
			content, size = protowire.ConsumeBytes(b)
		case protowire.Fixed64Type:
			number, size = protowire.ConsumeFixed64(b)
		default:
			number, size = protowire.ConsumeVarint(b)
		}
		if size < 0 {
			return protowire.ParseError(size)
		}
		b = b[size:]
		if err := f(n, content, number); err != nil {
			return err
		}
	}
	return nil
}

// data has the common fields of gauges, sums and histograms.
type data struct {
	DataPoints []struct {
		Attributes []struct {
			Key   string
			Value struct{ StringValue string }
		}
		TimeUnixNano, StartTimeUnixNano string
		AsDouble                        float64
		AsInt                           string
		Count                           string
		Sum                             float64
		BucketCounts                    []string
		ExplicitBounds                  []float64
	}
	AggregationTemporality int
	IsMonotonic            bool
}

// readOTLP decodes a request of metrics.
func readOTLP(encoding string, body []byte, into map[string]float64) error {
	if encoding == "gzip" {
		z, err := gzip.NewReader(strings.NewReader(string(body)))
		if err != nil {
			return err
		}
		if body, err = io.ReadAll(z); err != nil {
			return err
		}
	}
	var m struct {
		ResourceMetrics []struct {
			ScopeMetrics []struct {
				Metrics []struct {
					Name, Unit            string
					Gauge, Sum, Histogram *data
				}
			}
		}
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return err
	}
	for _, one := range m.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		name := strings.ReplaceAll(one.Name, ".", "_") + map[string]string{"s": "_seconds", "By": "_bytes", "1": "_ratio"}[one.Unit]
		if strings.HasSuffix(one.Unit, "/s") {
			name += "_per_second"
		}
		switch {
		case one.Gauge != nil:
			one.Gauge.read(name, into)
		case one.Sum != nil && one.Sum.IsMonotonic && one.Sum.AggregationTemporality == 2:
			one.Sum.read(name+"_total", into)
		case one.Histogram != nil && one.Histogram.AggregationTemporality == 2:
			one.Histogram.read(name, into)
		default:
			return fmt.Errorf("%s has an unknown kind", one.Name)
		}
	}
	return nil
}

// read adds the newest values.
func (d *data) read(name string, into map[string]float64) {
	for _, p := range d.DataPoints {
		labels := map[string]string{}
		for _, a := range p.Attributes {
			labels[a.Key] = a.Value.StringValue
		}
		number := func(text string) float64 {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return math.NaN()
			}
			return v
		}
		switch {
		case p.Count != "":
			into[key(name+"_count", labels)] = number(p.Count)
			below := 0.0
			for i, n := range p.BucketCounts {
				le := "+Inf"
				if i < len(p.ExplicitBounds) {
					le = strconv.FormatFloat(p.ExplicitBounds[i], 'g', -1, 64)
				}
				below += number(n)
				labels["le"] = le
				into[key(name+"_bucket", labels)] = below
			}
		case p.AsInt != "":
			into[key(name, labels)] = number(p.AsInt)
		default:
			into[key(name, labels)] = p.AsDouble
		}
	}
}

// ReadInflux adds the newest values of a text in InfluxDB's line protocol.
func ReadInflux(text string, into map[string]float64) error {
	for line := range strings.Lines(text) {
		// Spaces, commas and equals signs after a backslash belong to a tag.
		line = regexp.MustCompile(`\\([ ,=])`).ReplaceAllStringFunc(strings.TrimSuffix(line, "\n"), func(s string) string {
			return map[string]string{`\ `: "\x01", `\,`: "\x02", `\=`: "\x03"}[s]
		})
		whole := strings.NewReplacer("\x01", " ", "\x02", ",", "\x03", "=")
		parts := strings.Split(line, " ")
		if len(parts) != 3 {
			return fmt.Errorf("%q has %d parts", line, len(parts))
		}
		head := strings.Split(parts[0], ",")
		labels := map[string]string{}
		for _, tag := range head[1:] {
			name, value, _ := strings.Cut(tag, "=")
			labels[name] = whole.Replace(value)
		}
		for field := range strings.SplitSeq(parts[1], ",") {
			name, value, _ := strings.Cut(field, "=")
			v, err := strconv.ParseFloat(strings.TrimSuffix(value, "i"), 64)
			if err != nil {
				return err
			}
			into[key(head[0]+"_"+name, labels)] = v
		}
		if _, err := strconv.ParseInt(parts[2], 10, 64); err != nil {
			return err
		}
	}
	return nil
}

// A line of Prometheus' text format, and a label in it.
var (
	exposed = regexp.MustCompile(`^([a-z_]+)(?:\{(.*)\})? (\S+)$`)
	labeled = regexp.MustCompile(`([a-z_]+)="((?:[^"\\]|\\.)*)"`)
)

// Fetch reads the values at a URL as Prometheus does.
func Fetch(url string) (map[string]float64, error) {
	answer, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", answer.StatusCode)
	}
	into := map[string]float64{}
	for in := bufio.NewScanner(answer.Body); in.Scan(); {
		if strings.HasPrefix(in.Text(), "#") {
			continue
		}
		m := exposed.FindStringSubmatch(in.Text())
		if m == nil {
			return nil, fmt.Errorf("%q is not a sample", in.Text())
		}
		labels := map[string]string{}
		for _, l := range labeled.FindAllStringSubmatch(m[2], -1) {
			labels[l[1]] = l[2]
		}
		if into[key(m[1], labels)], err = strconv.ParseFloat(m[3], 64); err != nil {
			return nil, err
		}
	}
	return into, nil
}
