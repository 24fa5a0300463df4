package present

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// csvHead names the columns of CSV, with their units as in the JSON.
var csvHead = []string{
	"t", "rate", "p50_us", "p99_us", "errors", "send_lag_p99_us", "waiting", "server_cpu", "rss_bytes", "threads", "open_files",
}

// CSV writes the time series, a line each point. It returns the errors of w.
func CSV(w io.Writer, series []Point) error {
	out := csv.NewWriter(w)
	float := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
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
			float(p.T), float(p.Rate), float(p.P50Us), float(p.P99Us), strconv.FormatUint(p.Errors, 10),
			float(p.SendLag), strconv.FormatUint(p.Waiting, 10), float(p.ServerCPU),
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
