package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/report"
)

const (
	tryBody = 16 << 20 // longest body that is sent to try a request
	tryShow = 2 << 10  // bytes of a body that are shown
)

// rehearsal has one user do everything once, and shows it. Its exit code is that of
// a broken threshold when an answer is missing, or fails a check.
func (p *plan) rehearsal(ctx context.Context, w io.Writer) (err error) {
	compiled, err := p.scenario.Plan()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, compiled.Close()) }()
	u := compiled.Rehearse(p.seed)
	sent, failed := 0, 0
	for t, ok := u.Next(); ok; t, ok = u.Next() {
		text, good, err := p.attempt(ctx, u, t, serverOf(compiled))
		if ctx.Err() != nil {
			return cli.ExitCode(130)
		}
		if err != nil {
			return err
		}
		if sent++; !good {
			failed++
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	words := fmt.Sprintf("right: %d of %d", sent-failed, len(compiled.Targets()))
	if missed := len(compiled.Targets()) - sent; missed > 0 {
		words += fmt.Sprintf("; never reached: %d", missed)
		failed++
	}
	if _, err = fmt.Fprintln(w, words); err == nil && failed > 0 {
		err = cli.ExitCode(ExitBroken)
	}
	return err
}

// attempt sends one request, and shows what came of it.
func (p *plan) attempt(ctx context.Context, u *scenario.User, t *scenario.Target, server string) (text string, good bool, err error) {
	wire := u.Append(nil, t)
	var s strings.Builder
	s.WriteString(report.Line(t.Name()) + "\n")
	if body := t.Stream(); body != nil {
		if body.Size() > tryBody {
			u.Abort()
			fmt.Fprintf(&s, "  = not tried: its body has %s, more than %s\n\n", report.Bytes(float64(body.Size()), " "), report.Bytes(tryBody, " "))
			return s.String(), true, nil
		}
		if wire, err = body.AppendAt(wire, 0, int(body.Size())); err != nil {
			return "", false, err
		}
	}
	head, body, _ := strings.Cut(string(wire), "\r\n\r\n")
	show(&s, "  > ", head)
	show(&s, "  > ", body)
	q, err := requestOf(t, server, wire)
	if err != nil {
		return "", false, err
	}
	q.protocol = p.protocol
	a, err := q.ask(ctx, p.timeout)
	if err != nil {
		u.Abort()
		fmt.Fprintf(&s, "  = %s\n\n", report.Line(err.Error()))
		return s.String(), false, nil
	}
	fmt.Fprintf(&s, "  < %d %s\n", a.status, http.StatusText(a.status))
	show(&s, "  < ", strings.TrimSuffix(string(a.head), "\r\n"))
	show(&s, "  < ", string(a.body))
	verdict := "right"
	failed := u.Answer(t, a.status, a.head, a.body)
	if failed != "" {
		verdict = "FAILED: " + report.Line(failed)
	}
	fmt.Fprintf(&s, "  = %s\n\n", verdict)
	return s.String(), failed == "", nil
}

// show writes text line by line behind a mark, as far as it is text and not long.
func show(s *strings.Builder, mark, text string) {
	if text == "" {
		return
	}
	size, cut := len(text), min(len(text), tryShow)
	for cut < size && cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	if text = text[:cut]; !utf8.ValidString(text) {
		fmt.Fprintf(s, "%s(%d bytes that are no text)\n", mark, size)
		return
	}
	for l := range strings.Lines(text) {
		s.WriteString(mark + report.Line(strings.TrimRight(l, "\r\n")) + "\n")
	}
	if size > cut {
		fmt.Fprintf(s, "%s(%d bytes more)\n", mark, size-cut)
	}
}
