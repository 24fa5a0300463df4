package export

import (
	"cmp"
	"context"
	"math"
	"os"
	"slices"
	"strconv"

	"github.com/klauspost/compress/snappy"
	"google.golang.org/protobuf/encoding/protowire"
)

// remoteWriteHeaders is the environment variable with header fields of remote write.
const remoteWriteHeaders = "REDLINE_REMOTE_WRITE_HEADERS"

// remoteWrite sends snapshots by Prometheus remote write 1.0: protobuf, compressed with snappy.
type remoteWrite struct {
	*poster
	out  Output
	host string // value of the label instance
	told bool   // the metadata was sent
}

func newRemoteWrite(o Output, tool string) (*remoteWrite, error) {
	w := &remoteWrite{poster: newPoster(o.url, tool, sendTimeout, nil), out: o, host: hostname()}
	more, err := headersOf(remoteWriteHeaders, os.Getenv(remoteWriteHeaders))
	if err != nil {
		return nil, err
	}
	w.use(more)
	for name, value := range map[string]string{
		"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy", "X-Prometheus-Remote-Write-Version": "0.1.0",
	} {
		w.header.Set(name, value)
	}
	return w, nil
}

// String returns the output without credentials.
func (w *remoteWrite) String() string { return w.out.String() }

func (w *remoteWrite) write(ctx context.Context, list []*snapshot) error {
	_, err := w.post(ctx, snappy.Encode(nil, encodeWrite(list, w.host, !w.told)))
	w.told = w.told || err == nil
	return err
}

// The fields of the messages of remote write, by number.
const (
	writeSeries   = protowire.Number(1) // of WriteRequest
	writeMetadata = protowire.Number(3)

	seriesLabels  = protowire.Number(1) // of TimeSeries
	seriesSamples = protowire.Number(2)

	pairName  = protowire.Number(1) // of Label
	pairValue = protowire.Number(2)

	valueFloat = protowire.Number(1) // of Sample
	valueTime  = protowire.Number(2)

	metaType = protowire.Number(1) // of MetricMetadata
	metaName = protowire.Number(2)
	metaHelp = protowire.Number(4)
)

// typeOf has the numbers of the kinds in MetricMetadata.
var typeOf = map[kind]uint64{counter: 1, gauge: 2, histogram: 3}

// series is a series of Prometheus: labels and samples.
type series struct {
	labels []label
	values []timed
}

type timed struct {
	at    int64 // milliseconds since 1970
	value float64
}

// encodeWrite encodes a WriteRequest; tell adds the metadata of the metrics.
func encodeWrite(list []*snapshot, host string, tell bool) (b []byte) {
	grouped(list, func(m *metric, of []placed) {
		for _, s := range seriesOf(m, of, host) {
			b = field(b, writeSeries, s.encode())
		}
		if tell {
			var meta []byte
			meta = protowire.AppendTag(meta, metaType, protowire.VarintType)
			meta = protowire.AppendVarint(meta, typeOf[m.kind])
			meta = field(meta, metaName, []byte(m.underscored()))
			meta = field(meta, metaHelp, []byte(m.help))
			b = field(b, writeMetadata, meta)
		}
	})
	return b
}

// seriesOf returns the series of one metric; a histogram has one for each bucket, the sum and
// the count.
func seriesOf(m *metric, of []placed, host string) (list []*series) {
	index := map[string]*series{}
	put := func(p placed, suffix string, value float64, more ...label) {
		labels := []label{{"__name__", m.underscored() + suffix}, {"job", "redline"}}
		if host != "" {
			labels = append(labels, label{"instance", host})
		}
		labels = append(append(labels, p.all()...), more...)
		for i := range labels {
			labels[i].name = labels[i].flat()
		}
		slices.SortFunc(labels, func(a, b label) int { return cmp.Compare(a.name, b.name) })
		key := keyOf(labels)
		if index[key] == nil {
			index[key] = &series{labels: labels}
			list = append(list, index[key])
		}
		index[key].values = append(index[key].values, timed{p.in.at.UnixMilli(), value})
	}
	for _, p := range of {
		if m.kind != histogram {
			put(p, "", p.value)
			continue
		}
		below := uint64(0)
		for i, n := range p.counts.buckets {
			le := math.Inf(1)
			if i < len(bounds) {
				le = bounds[i]
			}
			below += n
			put(p, "_bucket", float64(below), label{"le", leText(le)})
		}
		put(p, "_sum", p.counts.sum)
		put(p, "_count", float64(p.counts.count))
	}
	return list
}

// leText formats a bound as client libraries do.
func leText(le float64) string {
	if math.IsInf(le, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(le, 'g', -1, 64)
}

// keyOf returns a key that identifies a series.
func keyOf(labels []label) string {
	var b []byte
	for _, l := range labels {
		b = strconv.AppendQuote(strconv.AppendQuote(b, l.name), l.value)
	}
	return string(b)
}

// encode encodes a TimeSeries.
func (s *series) encode() (b []byte) {
	for _, l := range s.labels {
		b = field(b, seriesLabels, field(field(nil, pairName, []byte(l.name)), pairValue, []byte(l.value)))
	}
	for _, v := range s.values {
		one := protowire.AppendTag(nil, valueFloat, protowire.Fixed64Type)
		one = protowire.AppendFixed64(one, math.Float64bits(v.value))
		one = protowire.AppendTag(one, valueTime, protowire.VarintType)
		one = protowire.AppendVarint(one, uint64(v.at))
		b = field(b, seriesSamples, one)
	}
	return b
}

// field appends bytes, text or a message.
func field(b []byte, number protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), content)
}
