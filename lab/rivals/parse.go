package rivals

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/redline-go/redline/lab/rivals/scripted"
)

// decode parses one JSON object; anything after it is ignored.
func decode(out []byte, into any) error {
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(into); err != nil {
		return fmt.Errorf("read its report: %w", err)
	}
	return nil
}

// scaled returns n units of the given number of milliseconds.
func scaled(n *float64, milliseconds float64) *float64 {
	if n == nil {
		return nil
	}
	v := *n * milliseconds
	return &v
}

func parseRedline(_ *Load, out []byte) (r Report, err error) {
	var d struct {
		Schema   string            `json:"schema"`
		Rate     float64           `json:"requests_per_second"`
		Requests uint64            `json:"requests"`
		Errors   map[string]uint64 `json:"errors"`
		Latency  struct {
			P50 *float64 `json:"p50_us"`
			P99 *float64 `json:"p99_us"`
			Max *float64 `json:"max_us"`
		} `json:"latency"`
	}
	if err := decode(out, &d); err != nil {
		return r, err
	}
	if d.Schema == "" {
		return r, fmt.Errorf("read its report: it has no schema")
	}
	for _, n := range d.Errors {
		r.Errors += n
	}
	r.Requests, r.Rate = d.Requests, d.Rate
	r.P50, r.P99, r.Max = scaled(d.Latency.P50, 1e-3), scaled(d.Latency.P99, 1e-3), scaled(d.Latency.Max, 1e-3)
	return r, nil
}

// parseWrk parses the line that wrkScript prints, which is the last one.
func parseWrk(_ *Load, out []byte) (r Report, err error) {
	var d struct {
		Requests, Errors uint64
		Us               float64
		P50, P99, Max    *float64 // microseconds
	}
	if err := decode(out[max(bytes.LastIndexByte(out, '{'), 0):], &d); err != nil {
		return r, err
	}
	if d.Us > 0 {
		r.Rate = float64(d.Requests) / d.Us * 1e6
	}
	r.Requests, r.Errors = d.Requests, d.Errors
	r.P50, r.P99, r.Max = scaled(d.P50, 1e-3), scaled(d.P99, 1e-3), scaled(d.Max, 1e-3)
	return r, nil
}

func parseOha(_ *Load, out []byte) (r Report, err error) {
	var d struct {
		Summary struct {
			Rate    float64  `json:"requestsPerSec"`
			Slowest *float64 `json:"slowest"` // seconds, like all times
		} `json:"summary"`
		Percentiles struct {
			P50 *float64 `json:"p50"`
			P99 *float64 `json:"p99"`
		} `json:"latencyPercentiles"`
		Status map[string]uint64 `json:"statusCodeDistribution"`
		Errors map[string]uint64 `json:"errorDistribution"`
	}
	if err := decode(out, &d); err != nil {
		return r, err
	}
	r.count(d.Status)
	for what, n := range d.Errors {
		if what != "aborted due to deadline" { // in flight at the end, as with every tool
			r.Errors += n
		}
	}
	r.Rate = d.Summary.Rate
	r.P50, r.P99, r.Max = scaled(d.Percentiles.P50, 1e3), scaled(d.Percentiles.P99, 1e3), scaled(d.Summary.Slowest, 1e3)
	return r, nil
}

// count adds responses by status.
func (r *Report) count(status map[string]uint64) {
	for code, n := range status {
		if len(code) == 3 && code[0] == '2' {
			r.Requests += n
		} else {
			r.Errors += n
		}
	}
}

func parseBombardier(_ *Load, out []byte) (r Report, err error) {
	var d struct {
		Result struct {
			Seconds float64 `json:"timeTakenSeconds"`
			Right   uint64  `json:"req2xx"`
			Info    uint64  `json:"req1xx"`
			Moved   uint64  `json:"req3xx"`
			Client  uint64  `json:"req4xx"`
			Server  uint64  `json:"req5xx"`
			Others  uint64  `json:"others"`
			Latency struct {
				Max         *float64            `json:"max"` // microseconds
				Percentiles map[string]*float64 `json:"percentiles"`
			} `json:"latency"`
		} `json:"result"`
	}
	if err := decode(out, &d); err != nil {
		return r, err
	}
	x := d.Result
	r.Requests, r.Errors = x.Right, x.Info+x.Moved+x.Client+x.Server+x.Others
	if x.Seconds > 0 {
		r.Rate = float64(x.Right) / x.Seconds
	}
	r.P50, r.P99 = scaled(x.Latency.Percentiles["50"], 1e-3), scaled(x.Latency.Percentiles["99"], 1e-3)
	r.Max = scaled(x.Latency.Max, 1e-3)
	return r, nil
}

func parseVegeta(_ *Load, out []byte) (r Report, err error) {
	var d struct {
		Latencies struct {
			P50 *float64 `json:"50th"` // nanoseconds
			P99 *float64 `json:"99th"`
			Max *float64 `json:"max"`
		} `json:"latencies"`
		Throughput float64           `json:"throughput"`
		Status     map[string]uint64 `json:"status_codes"`
	}
	if err := decode(out, &d); err != nil {
		return r, err
	}
	r.count(d.Status)
	r.Rate = d.Throughput
	r.P50, r.P99, r.Max = scaled(d.Latencies.P50, 1e-6), scaled(d.Latencies.P99, 1e-6), scaled(d.Latencies.Max, 1e-6)
	return r, nil
}

var (
	heyRate     = regexp.MustCompile(`Requests/sec:\s+([\d.]+)`)
	heySlowest  = regexp.MustCompile(`Slowest:\s+([\d.]+) secs`)
	heyQuantile = regexp.MustCompile(`(?m)^\s+(50|99)%+ in ([\d.]+) secs`)
	heyStatus   = regexp.MustCompile(`(?m)^\s+\[(\d{3})\]\s+(\d+) responses`)
	heyError    = regexp.MustCompile(`(?m)^\s+\[(\d+)\]\s+\D`)
)

// parseHey parses the text: hey's CSV contains the requests, but not the failures.
func parseHey(_ *Load, out []byte) (r Report, err error) {
	rate := heyRate.FindSubmatch(out)
	if rate == nil {
		return r, fmt.Errorf("read its report: there is no Requests/sec in it")
	}
	if r.Rate, err = strconv.ParseFloat(string(rate[1]), 64); err != nil {
		return r, fmt.Errorf("read its report: %w", err)
	}
	summary, failed, _ := bytes.Cut(out, []byte("Error distribution:"))
	status := map[string]uint64{}
	for _, m := range heyStatus.FindAllSubmatch(summary, -1) {
		status[string(m[1])], err = strconv.ParseUint(string(m[2]), 10, 64)
		if err != nil {
			return r, fmt.Errorf("read its report: %w", err)
		}
	}
	r.count(status)
	for _, m := range heyError.FindAllSubmatch(failed, -1) {
		n, err := strconv.ParseUint(string(m[1]), 10, 64)
		if err != nil {
			return r, fmt.Errorf("read its report: %w", err)
		}
		r.Errors += n
	}
	set := func(to **float64, text []byte) {
		if v, err := strconv.ParseFloat(string(text), 64); err == nil {
			*to = scaled(&v, 1e3)
		}
	}
	if m := heySlowest.FindSubmatch(summary); m != nil {
		set(&r.Max, m[1])
	}
	for _, m := range heyQuantile.FindAllSubmatch(summary, -1) {
		if string(m[1]) == "50" {
			set(&r.P50, m[2])
		} else {
			set(&r.P99, m[2])
		}
	}
	return r, nil
}

var (
	h2loadFinish = regexp.MustCompile(`finished in [^,]+, ([\d.]+) req/s`)
	h2loadCounts = regexp.MustCompile(`requests: .*?(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout`)
)

// parseH2load parses the summary and, if there is one, the log of requests: the summary has
// no quantiles.
func parseH2load(l *Load, out []byte) (r Report, err error) {
	finish, counts := h2loadFinish.FindSubmatch(out), h2loadCounts.FindSubmatch(out)
	if finish == nil || counts == nil {
		return r, fmt.Errorf("read its report: there is no line with its requests")
	}
	if r.Rate, err = strconv.ParseFloat(string(finish[1]), 64); err != nil {
		return r, fmt.Errorf("read its report: %w", err)
	}
	var n [4]uint64
	for i := range n {
		if n[i], err = strconv.ParseUint(string(counts[i+1]), 10, 64); err != nil {
			return r, fmt.Errorf("read its report: %w", err)
		}
	}
	r.Requests, r.Errors = n[0], n[2]+n[3] // failed includes those that errored
	r.Errors = max(r.Errors, n[1])
	if l.Rate == 0 {
		return r, nil
	}
	times, err := readH2loadLog(h2loadLog(l))
	if err != nil || len(times) == 0 {
		return r, err
	}
	at := func(q float64) *float64 {
		v := float64(times.Quantile(q)) / float64(time.Millisecond)
		return &v
	}
	r.P50, r.P99, r.Max = at(0.5), at(0.99), at(1)
	return r, nil
}

// readH2loadLog reads the log of responses: start, status and microseconds.
func readH2loadLog(file string) (d scripted.Distribution, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read its log: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var start, us int64
		var status int
		if _, err := fmt.Sscan(lines.Text(), &start, &status, &us); err != nil {
			return nil, fmt.Errorf("read its log: %q: %w", lines.Text(), err)
		}
		if status > 0 {
			d = append(d, time.Duration(us)*time.Microsecond)
		}
	}
	slices.Sort(d)
	return d, lines.Err()
}
