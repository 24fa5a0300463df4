package present

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/redline-go/redline/lab/results"
)

// csvHead names the columns of CSV, with their units as in the JSON.
var csvHead = []string{
	"t", "rate", "p50_us", "p95_us", "p99_us", "errors", "send_lag_p99_us", "waiting", "in_flight", "in_flight_max", "server_cpu", "rss_bytes", "threads", "open_files",
}

// CSV writes the time series, a line for each point. It returns the errors of w.
func CSV(w io.Writer, series []Point) error {
	out := csv.NewWriter(w)
	float := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	some := func(v float64) string { // empty: nothing was answered, and nothing waited
		if v == 0 {
			return ""
		}
		return float(v)
	}
	head, streams := slices.Concat(csvHead, runtimeHead), slices.ContainsFunc(series, func(p Point) bool { return p.Stream != nil })
	if streams {
		head = append(head, streamHead...)
	}
	ramp := slices.ContainsFunc(series, func(p Point) bool { return p.Users > 0 })
	if ramp {
		head = append(head, "users")
	}
	err := out.Write(head)
	for _, p := range series {
		if err != nil {
			break
		}
		row := []string{
			float(p.T), float(p.Rate), some(p.P50Us), some(p.P95Us), some(p.P99Us), strconv.FormatUint(p.Errors, 10),
			float(p.SendLag), strconv.FormatUint(p.Waiting, 10), float(p.InFlight), strconv.FormatUint(p.InFlightMax, 10), float(p.ServerCPU),
			strconv.FormatUint(p.RSSBytes, 10), strconv.Itoa(p.Threads), strconv.Itoa(p.OpenFiles),
		}
		row = append(row, p.runtimeCells()...)
		if streams {
			row = append(row, streamCells(p.Stream)...)
		}
		if ramp {
			row = append(row, strconv.Itoa(p.Users))
		}
		err = out.Write(row)
	}
	if out.Flush(); err == nil {
		err = out.Error()
	}
	if err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

// HDR writes the window's distributions as an HdrHistogram log: first the latency (in an open
// loop the response time, with subscribers the delay) without a tag, because readers of such
// logs ignore tagged lines by default; then the others, each with its tag: service and
// send-lag, or gap and read-lag; iteration and iteration-answers of flows. Values are
// nanoseconds; the column of the maximum is milliseconds, as the log's readers expect it. It
// returns the errors of w.
//
// The library's writer supports neither fractions of a second nor tags, so the log is written
// here; the library encodes the histograms, V2 compressed.
func HDR(w io.Writer, d *Document) error {
	type part struct {
		tag string
		of  results.Latency
	}
	parts := []part{{"", d.Latency}}
	if d.Open != nil {
		parts = append(parts, part{"Tag=service,", d.Open.Service}, part{"Tag=send-lag,", d.Open.SendLag})
	}
	if d.Stream != nil {
		parts = append(parts, part{"Tag=gap,", d.Stream.Gap}, part{"Tag=read-lag,", d.Stream.Lag})
	}
	if i := d.Iterations; i != nil {
		parts = append(parts, part{"Tag=iteration,", i.Time}, part{"Tag=iteration-answers,", i.WithoutThink})
	}
	start := float64(d.Started.UnixMilli()) / 1e3
	_, err := fmt.Fprintf(w, "#[Histogram log format version 1.3]\n#[redline load %s]\n#[StartTime: %.3f (seconds since epoch), %s]\n"+
		"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
		d.Tool, start, d.Started.UTC().Format("Mon Jan 02 15:04:05 UTC 2006"))
	for _, p := range parts {
		if err == nil {
			_, err = fmt.Fprintf(w, "%s0.000,%.3f,%.3f,%s\n", p.tag, d.Seconds, p.of.MaxUs/1e3, p.of.Histogram)
		}
	}
	if err != nil {
		return fmt.Errorf("write HDR log: %w", err)
	}
	return nil
}
