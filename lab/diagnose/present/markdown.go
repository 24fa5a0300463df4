package present

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/report"
)

// Markdown writes the whole report as Markdown, for an issue or a wiki.
func Markdown(w io.Writer, r *diagnose.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Diagnosis of %s\n\n", code(r.URL))
	if !r.Valid {
		fmt.Fprintf(&b, "**INVALID**: %s\n\n", plain(strings.Join(r.Why, "; ")))
	}
	if r.Partial != "" {
		fmt.Fprintf(&b, "**PARTIAL**: %s\n\n", plain(r.Partial))
	}
	b.WriteString(plain(r.Verdict) + "\n\n")
	if r.Disturbed != "" {
		fmt.Fprintf(&b, "**DISTURBED**: %s\n\n", plain(r.Disturbed))
	}
	for i := range r.Causes {
		markCause(&b, i+1, &r.Causes[i])
	}
	if len(r.Time) > 0 {
		b.WriteString("## " + plain(spendTitle(r)) + "\n\n| share | what | place | stack |\n|---:|---|---|---|\n")
		for _, s := range r.Time {
			fmt.Fprintf(&b, "| %.1f %% | %s | %s | %s |\n", s.Share*100, plain(s.What), plain(strings.TrimPrefix(spendPlace(s), ", ")), plain(strings.Join(s.Stack, " < ")))
		}
		b.WriteString("\n")
	}
	if len(r.Refuted) > 0 {
		b.WriteString("## Refuted by a trial\n\n")
		for i := range r.Refuted {
			fmt.Fprintf(&b, "- ~~%s~~ %s\n", plain(r.Refuted[i].Title), plain(r.Refuted[i].Trial.Text))
		}
		b.WriteString("\n")
	}
	if len(r.Trials) > 0 {
		b.WriteString("## Also tried\n\n")
		for _, t := range r.Trials {
			fmt.Fprintf(&b, "- %s\n", plain(t.Text))
		}
		b.WriteString("\n")
	}
	markAdvice(&b, r.Advice)
	markLoads(&b, r)
	if len(r.Doubts) > 0 {
		b.WriteString("## In doubt\n\n")
		for _, text := range r.Doubts {
			fmt.Fprintf(&b, "- %s\n", plain(text))
		}
		b.WriteString("\n")
	}
	if len(r.Missing) > 0 {
		b.WriteString("## Not seen\n\n")
		for _, text := range r.Missing {
			fmt.Fprintf(&b, "- %s\n", plain(text))
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markCause(b *strings.Builder, n int, c *diagnose.Cause) {
	fmt.Fprintf(b, "## %d. %s\n\n%s; confidence %s; %s\n\n", n, plain(c.Title), plain(Gain(c.Gain)), report.Share(c.Confidence), code(c.ID))
	for _, text := range c.Evidence {
		fmt.Fprintf(b, "- %s\n", plain(text))
	}
	b.WriteString("\n")
	if len(c.Sites) > 0 {
		b.WriteString("| share | place |\n|---:|---|\n")
		for _, p := range c.Sites {
			place := code(p.Func)
			if p.File != "" {
				place += fmt.Sprintf(" %s", code(fmt.Sprintf("%s:%d", p.File, p.Line)))
			}
			fmt.Fprintf(b, "| %.1f %% | %s |\n", p.Share*100, place)
		}
		b.WriteString("\n")
	}
	if len(c.Advice) > 0 {
		b.WriteString("What to do:\n\n")
		for i, text := range c.Advice {
			fmt.Fprintf(b, "%d. %s\n", i+1, plain(text))
		}
		b.WriteString("\n")
	}
	if c.Trial != nil {
		fmt.Fprintf(b, "Tried: %s\n\n", plain(c.Trial.Text))
	}
}

func markAdvice(b *strings.Builder, list []diagnose.Advice) {
	if len(list) == 0 {
		return
	}
	b.WriteString("## Lines that allocate\n\n| bytes an answer | line | what | why | what to do |\n|---:|---|---|---|---|\n")
	for _, a := range list {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", report.Bytes(a.Bytes, " "), code(fmt.Sprintf("%s:%d", a.File, a.Line)), code(a.What), plain(a.Reason), plain(a.Do))
	}
	b.WriteString("\n")
}

func markLoads(b *strings.Builder, r *diagnose.Report) {
	b.WriteString("## Loads\n\n| connections | requests/s | p50 | p99 | CPUs |\n|---:|---:|---:|---:|---:|\n")
	for _, p := range r.Sweep {
		fmt.Fprintf(b, "| %d | %s | %s | %s | %.2f |\n", p.Connections, report.PerSecond(p.Rate), duration(p.P50), duration(p.P99), p.CPU)
	}
	b.WriteString("\n")
	if l := r.Law; l != nil {
		fmt.Fprintf(b, "Universal scalability law: contention %.3f (%.3f to %.3f), coherence %.5f (%.5f to %.5f), R² %.3f.\n\n",
			l.Sigma, l.SigmaInterval[0], l.SigmaInterval[1], l.Kappa, l.KappaInterval[0], l.KappaInterval[1], l.R2)
	}
	b.WriteString("| load | requests/s | CPU of an answer | mean | p99 | errors |\n|---|---:|---:|---:|---:|---:|\n")
	for i := range r.Loads {
		l := &r.Loads[i]
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", l.Name, report.PerSecond(l.Rate), duration(l.CPU), duration(l.Latency.Mean), duration(l.Latency.P99), report.Share(l.Errors))
	}
	b.WriteString("\n")
}

// duration prints seconds; 0 is unknown.
func duration(s float64) string {
	if s == 0 {
		return "-"
	}
	return report.Seconds(s)
}

// marks are the characters that mean something in Markdown, in a table or in HTML.
var marks = strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "<", "&lt;", "[", `\[`, "`", "\\`", "\n", " ", "\r", " ")

// plain makes foreign text one line of plain Markdown.
func plain(text string) string { return marks.Replace(report.Line(text)) }

// code makes foreign text one line of code.
func code(text string) string {
	return "`" + strings.NewReplacer("`", "'", "|", `\|`).Replace(report.Line(text)) + "`"
}

// took is how long the diagnosis lasted, in words.
func took(r *diagnose.Report) string { return r.Ended.Sub(r.Started).Round(time.Second).String() }
