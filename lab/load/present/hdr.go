package present

import (
	"fmt"
	"io"

	"github.com/redline-go/redline/lab/results"
)

// HDR writes the window's distributions as an HdrHistogram log: first the latency
// (of an open loop the response time, of subscribers the delay), which has no tag
// as readers of such logs want no tag unless they are given one; then the others,
// each with its tag: service and send-lag, or gap and read-lag; iteration and
// iteration-answers of flows. Values are
// nanoseconds; the column of the maximum is milliseconds, as the log's readers
// expect it. It returns the errors of w.
//
// The log is written here because the library's writer takes whole seconds only
// and has no tags; the histograms are the library's, V2 compressed.
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
