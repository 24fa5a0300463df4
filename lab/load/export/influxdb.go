package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// influxToken is the environment variable with the token, as influx itself reads it.
const influxToken = "INFLUX_TOKEN"

// parseInflux parses a URL of the write API, or the name of a file.
func parseInflux(o Output) (_ Output, err error) {
	const example = "'http://127.0.0.1:8086?org=ORG&bucket=BUCKET'"
	if !strings.Contains(o.where, "://") {
		switch o.where {
		case "", "-":
			return o, fmt.Errorf("influxdb: want a URL or a file, as influxdb=%s, influxdb=http://127.0.0.1:8086?db=NAME or influxdb=run.lp", example)
		}
		return o, nil
	}
	if o.url, err = parseURL(o.format, o.where, example); err != nil {
		return o, err
	}
	q := o.url.Query()
	bare := strings.Trim(o.url.Path, "/") == ""
	switch {
	case q.Has("bucket") == q.Has("db"):
		return o, fmt.Errorf("influxdb: name the bucket of version 2, as %s, or the database of version 1, as http://127.0.0.1:8086?db=NAME", example)
	case bare && q.Has("bucket"):
		o.url.Path = "/api/v2/write"
	case bare:
		o.url.Path = "/write"
	}
	q.Set("precision", "ns")
	o.url.RawQuery = q.Encode()
	return o, nil
}

// newInflux returns a writer of the line protocol, to a URL or to a file, which it truncates.
func newInflux(o Output, tool string) (writer, error) {
	if o.url == nil {
		f, err := os.Create(o.where)
		if err != nil {
			return nil, err
		}
		return &influxFile{f: f, out: o}, nil
	}
	w := &influx{poster: newPoster(o.url, tool, sendTimeout, nil), out: o}
	if token := os.Getenv(influxToken); token != "" {
		if strings.ContainsAny(token, "\r\n") {
			return nil, errors.New(influxToken + ": a token must be one line")
		}
		w.header.Set("Authorization", "Token "+token)
		w.keep(token)
	}
	w.header.Set("Content-Type", "text/plain; charset=utf-8")
	return w, nil
}

// influx sends snapshots to InfluxDB.
type influx struct {
	*poster
	out Output
}

// String returns the output without credentials.
func (w *influx) String() string { return w.out.String() }

func (w *influx) write(ctx context.Context, list []*snapshot) error {
	_, err := w.post(ctx, lines(list))
	return err
}

// influxFile writes snapshots to a file.
type influxFile struct {
	f   *os.File
	out Output
}

// String returns the output.
func (w *influxFile) String() string { return w.out.String() }

func (w *influxFile) write(_ context.Context, list []*snapshot) error {
	if _, err := w.f.Write(lines(list)); err != nil {
		return fmt.Errorf("%w: %w", errRefused, err) // the file may end with a partial line
	}
	return nil
}

func (w *influxFile) close() error { return w.f.Close() }

// The measurements, which begin a line.
const (
	measuredLive   = "redline"
	measuredResult = "redline_result"
)

// lines encodes snapshots in the line protocol: one line for each set of labels. Fields are named
// as in Prometheus, without the measurement. Histograms are left out, because the protocol has
// none; quantiles are included.
func lines(list []*snapshot) []byte {
	var b bytes.Buffer
	for _, s := range list {
		var order []string
		fields := map[string][]string{}
		for i := range s.samples {
			one := &s.samples[i]
			if one.kind == histogram {
				continue
			}
			name, head := one.underscored(), measuredLive
			if strings.HasPrefix(name, measuredResult+"_") {
				head = measuredResult
			}
			key := head + tags(placed{s, one}.all())
			if fields[key] == nil {
				order = append(order, key)
			}
			value := strconv.FormatFloat(one.value, 'g', -1, 64)
			if one.kind == counter {
				value = strconv.FormatUint(uint64(one.value), 10) + "i"
			}
			fields[key] = append(fields[key], strings.TrimPrefix(name, head+"_")+"="+value)
		}
		for _, key := range order {
			fmt.Fprintf(&b, "%s %s %d\n", key, strings.Join(fields[key], ","), s.at.UnixNano())
		}
	}
	return b.Bytes()
}

// escapes escapes tags. A line break ends a line even after a backslash.
var escapes = strings.NewReplacer(`\`, `\\`, ",", `\,`, "=", `\=`, " ", `\ `, "\n", `\ `, "\r", `\ `)

// tags encodes labels; labels without a value are left out.
func tags(list []label) string {
	var b strings.Builder
	for _, l := range list {
		if l.value != "" {
			b.WriteString("," + l.flat() + "=" + escapes.Replace(l.value))
		}
	}
	return b.String()
}
