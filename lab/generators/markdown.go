package generators

import (
	"fmt"
	"io"
	"strings"

	"github.com/redline-go/redline/lab/generators/scripted"
)

var titles = map[string]string{
	Plain:     "64 connections, one request in flight on each",
	Pipelined: "64 connections, 16 requests in flight on each",
	HTTP2:     "HTTP/2 over TLS, 32 connections, 16 streams on each",
}

// Markdown writes the tables.
func (r *Result) Markdown(w io.Writer) error {
	var b strings.Builder
	var tools []string
	for _, t := range r.Tools {
		tools = append(tools, t.Name+" "+t.Version)
	}
	fmt.Fprintf(&b, "%s; rounds: %d, of %g s, in random order; a generator and a server have a CPU each. %s, Linux %s, sockets with %s, %s.\n",
		strings.Join(tools, ", "), r.Rounds, r.Window, r.Machine.CPU, r.Machine.Kernel, r.Machine.Congestion, r.Started.Format("2006-01-02"))
	for _, t := range r.Tables {
		t.markdown(&b)
	}
	if r.True != nil {
		r.truth(&b)
	}
	for i, s := range r.Skipped {
		if i == 0 {
			b.WriteString("\nLeft out:\n\n")
		}
		fmt.Fprintf(&b, "- %s\n", s)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n**%s**\n\n", titles[t.Workload])
	if len(t.Rows) == 0 {
		b.WriteString("No tool could make this load.\n")
		return
	}
	of := ""
	if t.Base != "" {
		of = " " + t.Base
	}
	fmt.Fprintf(b, "| generator | requests/s (range) | ×%s | its CPU a request | requests/s of a core | ×%s | it reports | CPU, the server's |\n", of, of)
	b.WriteString("|---|---|---|---|---|---|---|---|\n")
	for _, r := range t.Rows {
		if r.Rounds == 0 {
			fmt.Fprintf(b, "| %s | failed | | | | | | |\n", r.Tool)
			continue
		}
		name := r.Tool
		if r.Failed > 0 {
			name += fmt.Sprintf(" (failed %d of %d)", r.Failed, r.Failed+r.Rounds)
		}
		own := count(r.Own)
		if r.Errors > 0 {
			own += fmt.Sprintf(", %d errors", r.Errors)
		}
		fmt.Fprintf(b, "| %s | %s (%s–%s) | %s | %.2f µs | %s | %s | %s | %.0f %%, %.0f %% |\n",
			name, count(r.Rate.Median), count(r.Rate.Low), count(r.Rate.High), times(r.RateOf), r.PerCall.Median,
			count(r.PerCore.Median), times(r.PerCoreOf), own, r.CPU*100, r.ServerCPU*100)
	}
	t.warn(b)
}

// warn names the rows whose rate is not valid.
func (t *Table) warn(b *strings.Builder) {
	var names []string
	for _, r := range t.Rows {
		if r.disturbed() {
			names = append(names, r.Tool)
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(b, "\nINVALID rates: %s. Neither CPU was %.0f %% busy, so something else used them or limited the rate.\n",
			strings.Join(names, ", "), fullCPU*100)
	}
}

// truth writes the table of the server that stalls.
func (r *Result) truth(b *strings.Builder) {
	fmt.Fprintf(b, "\n**%s requests/s, a server that answers in %v and once stalls for %g s**\n\n",
		count(r.True.Rate), scripted.Service, r.Stall)
	b.WriteString("| generator | requests | p50 | off by | p99 | off by | max | off by |\n|---|---|---|---|---|---|---|---|\n")
	fmt.Fprintf(b, "| *what users see* | %d | %s | | %s | | %s | |\n", r.True.Requests, ms(r.True.P50), ms(r.True.P99), ms(r.True.Max))
	for _, v := range r.Truths {
		name := v.Tool
		if v.Note != "" {
			name += " (" + v.Note + ")"
		}
		if v.Fails != "" {
			fmt.Fprintf(b, "| %s | failed | | | | | | |\n", name)
			continue
		}
		p := v.Reported
		fmt.Fprintf(b, "| %s | %.0f | %s | %s | %s | %s | %s | %s |\n", name, v.Sent,
			ms(p.P50), percent(v.P50), ms(p.P99), percent(v.P99), ms(p.Max), percent(v.Max))
	}
	var names []string
	for _, v := range r.Truths {
		if v.tardy() {
			names = append(names, fmt.Sprintf("%s %.1f %%", v.Tool, v.Late*100))
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(b, "\nINVALID: the server itself was more than %v late with too many answers: %s.\n", scripted.TooLate, strings.Join(names, ", "))
	}
}

// count formats a number of requests with three significant digits.
func count(n float64) string {
	switch {
	case n >= 999.5e3:
		return fmt.Sprintf("%.2f million", n/1e6)
	case n >= 99.95e3:
		return fmt.Sprintf("%.0f,000", n/1e3)
	case n >= 9.995e3:
		return fmt.Sprintf("%.1fk", n/1e3)
	}
	return fmt.Sprintf("%.0f", n)
}

func times(x *float64) string {
	if x == nil {
		return "–"
	}
	return fmt.Sprintf("%.2f", *x)
}

func ms(x *float64) string {
	switch {
	case x == nil:
		return "–"
	case *x >= 1000:
		return fmt.Sprintf("%.3f s", *x/1e3)
	}
	return fmt.Sprintf("%.2f ms", *x)
}

func percent(x *float64) string {
	if x == nil {
		return ""
	}
	return fmt.Sprintf("%+.1f %%", *x*100)
}
