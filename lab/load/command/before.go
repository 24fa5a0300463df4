package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/subscribe"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/screen"
)

// server describes the server as found before the run.
type server struct {
	addr      string         // that answered
	status    int            // that answers must have, in addition to a scenario's checks; 0: none
	publish   string         // address of --publish; empty without it
	processes present.Server // without PIDs if they are unknown
}

// waitStep is the time between two attempts to reach a server that does not listen yet.
const waitStep = 100 * time.Millisecond

// askOpened is askFirst for a server that may not listen yet: it asks again for up to --wait-for.
func (p *plan) askOpened(ctx context.Context) (first firstAnswer, status int, err error) {
	over := time.Now().Add(p.flags.waitFor)
	for {
		first, status, err = p.askFirst(ctx)
		closed := errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT) && p.flags.users.unix != ""
		if !closed || !time.Now().Before(over) {
			return first, status, err
		}
		select {
		case <-ctx.Done():
			return first, status, err
		case <-time.After(waitStep):
		}
	}
}

// findServer sends the requests before the run, and finds the server's processes.
func (p *plan) findServer(ctx context.Context) (server, error) {
	first, status, err := p.askOpened(ctx)
	if err != nil {
		return server{}, err
	}
	s := server{addr: first.addr.String(), status: status}
	if path := p.flags.users.unix; path != "" {
		s.addr = spec.UnixPrefix + path
	}
	if s.publish, err = p.publishAddr(ctx); err != nil {
		return s, err
	}
	pids := p.flags.pids
	if len(pids) == 0 && first.local {
		if pids, err = probe.Listening(int(first.addr.Port())); err != nil {
			return s, err
		}
	}
	if len(pids) == 0 && first.listener > 0 && len(probe.Tree(first.listener)) > 0 { // the process that called listen may have ended
		pids = []int{first.listener}
	}
	if len(pids) == 0 {
		return s, nil
	}
	// A parent comes before its children, whichever has the lower number.
	pids = slices.Clone(pids)
	slices.SortStableFunc(pids, func(a, b int) int { return len(probe.Tree(b)) - len(probe.Tree(a)) })
	for _, pid := range pids {
		tree := probe.Tree(pid)
		if len(tree) == 0 {
			return s, fmt.Errorf("--pid %d: there is no such process", pid)
		}
		for _, one := range tree {
			if !slices.Contains(s.processes.PIDs, one) {
				s.processes.PIDs = append(s.processes.PIDs, one)
			}
		}
	}
	cpus, err := probe.AllowedTo(pids[0])
	if err != nil {
		return s, err
	}
	s.processes.CPUs, s.processes.Taken = share(cpus, p.cpus)
	return s, nil
}

// share returns how many of the CPUs that a server may use are free for it, and how many the generator
// keeps busy. If it keeps all of them busy, they are the server's all the same.
func share(cpus, generator []int) (free, taken int) {
	if free = len(without(cpus, generator)); free == 0 {
		return len(cpus), 0
	}
	return free, len(cpus) - free
}

// askFirst sends the requests before the run. status is server.status.
func (p *plan) askFirst(ctx context.Context) (a firstAnswer, status int, err error) {
	if p.users.scenario == nil {
		switch a, err = p.request.ask(ctx, p.flags.timeout); {
		case err != nil:
		case p.subscribers != nil:
			status, err = a.status, a.listened(&p.request, p.subscribers.Format)
		default:
			status, err = a.expected(p.flags.status, &p.request)
		}
		return a, status, err
	}
	if len(p.users.asks) == 0 {
		a, err = p.request.greet(ctx, p.flags.timeout)
		return a, 0, err
	}
	for _, q := range p.users.asks {
		if a, err = q.request.ask(ctx, p.flags.timeout); err != nil {
			return a, 0, err
		}
		if err := p.accept(&q, &a); err != nil {
			return a, 0, err
		}
	}
	if p.users.scenario.Request != nil && p.flags.status == 0 && !slices.ContainsFunc(p.flags.users.checks, isStatus) {
		status = a.status
	}
	return a, status, nil
}

// accept applies the checks to an answer before the run.
func (p *plan) accept(q *ask, a *firstAnswer) error {
	failed := p.users.checker.Answer(q.target, a.status, a.head, a.body)
	switch {
	case failed == "" || p.flags.users.keepGoing && p.users.scenario.Request == nil:
		return nil
	case p.users.scenario.Request == nil:
		return fmt.Errorf("%s: %s %s answers with status %d, and its check fails: %s; fix the request or its check, or add --keep-going", p.users.scenario.Name, q.request.method, q.request.url, a.status, failed)
	case slices.Contains(p.flags.users.checks, failed):
		return fmt.Errorf("%s %s answers with status %d, and --check %q fails", q.request.method, q.request.url, a.status, failed)
	}
	_, err := a.expected(p.flags.status, &q.request)
	return err
}

// expected returns the status that every answer must have.
func (a firstAnswer) expected(given int, r *request) (int, error) {
	switch {
	case given != 0 && given != a.status:
		return 0, fmt.Errorf("%s %s answers with status %d, but --status expects %d", r.method, r.url, a.status, given)
	case given == 0 && (a.status < 200 || a.status >= 400):
		return 0, fmt.Errorf("%s %s answers with status %d; if that is intended, write --status %d", r.method, r.url, a.status, a.status)
	}
	return a.status, nil
}

// listened returns an error for a first answer that is not a stream.
func (a firstAnswer) listened(r *request, format string) error {
	target := r.url.String()
	switch {
	case a.status == http.StatusNoContent:
		return fmt.Errorf("%s answers with status 204: it accepts no subscribers", target)
	case a.status >= 300 && a.status < 400 && a.location != "":
		return fmt.Errorf("%s redirects with status %d to %s, and redirects are not followed: subscribe to that URL", target, a.status, a.location)
	case format == spec.FormatMessage && a.status != http.StatusSwitchingProtocols:
		return fmt.Errorf("%s answers with status %d, but a WebSocket begins with status 101", target, a.status)
	case format == spec.FormatMessage:
	case a.status != http.StatusOK:
		return fmt.Errorf("%s answers with status %d, but a stream has status 200", target, a.status)
	case format == spec.FormatEvents && !subscribe.IsEvents(a.kind):
		return fmt.Errorf("%s: the media type of its answer is not text/event-stream (%.80s): it is not a stream for --sse", target, cmp.Or(a.kind, "it has none"))
	}
	return nil
}

const (
	tryBody = 16 << 20 // maximum length of a body that --try sends
	tryShow = 2 << 10  // maximum bytes of a body that --try shows
)

// tryOnce lets one user send every request once, and shows them. The exit code is that of a
// broken threshold if an answer is missing or fails a check.
func (p *plan) tryOnce(ctx context.Context, w io.Writer, on screen.Screen) (err error) {
	compiled, err := p.users.scenario.Plan()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, compiled.Close()) }()
	u := compiled.Rehearse(p.seed)
	sent, failed := 0, 0
	for t, ok := u.Next(); ok; t, ok = u.Next() {
		text, good, err := p.tryTarget(ctx, u, t, serverOf(compiled))
		if ctx.Err() != nil {
			return cli.ExitCode(130)
		}
		if err != nil {
			return err
		}
		if sent++; !good {
			failed++
		}
		if _, err := io.WriteString(w, tried(on, text)); err != nil {
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

// tried formats the text of tryTarget: wrapped on a terminal, and the result in colour.
func tried(on screen.Screen, text string) string {
	const mark = 4 // columns
	var b strings.Builder
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "  = right"):
			line = on.Paint(screen.Good, line)
		case strings.HasPrefix(line, "  = "):
			line = on.Paint(screen.Bad, line)
		}
		if on.Width > 0 && screen.Width(line) > on.Columns() && len(line) > mark {
			line = on.Paragraph("", strings.Repeat(" ", mark), strings.TrimSuffix(line, "\n"))
		}
		b.WriteString(line)
	}
	return b.String()
}

// tryTarget sends one request, and returns the exchange as text.
func (p *plan) tryTarget(ctx context.Context, u *scenario.User, t *scenario.Target, server string) (text string, good bool, err error) {
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
	a, err := q.ask(ctx, p.flags.timeout)
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

// show writes text line by line after a mark, if it is text, up to a maximum length.
func show(s *strings.Builder, mark, text string) {
	if text == "" {
		return
	}
	size, cut := len(text), min(len(text), tryShow)
	for cut < size && cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	if text = text[:cut]; !utf8.ValidString(text) {
		fmt.Fprintf(s, "%s(%d bytes that are not text)\n", mark, size)
		return
	}
	for l := range strings.Lines(text) {
		s.WriteString(mark + report.Line(strings.TrimRight(l, "\r\n")) + "\n")
	}
	if size > cut {
		fmt.Fprintf(s, "%s(%d bytes more)\n", mark, size-cut)
	}
}
