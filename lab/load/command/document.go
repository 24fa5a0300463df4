package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/redline-go/redline/lab/internal/redact"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/internal/file"
	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/objective"
	"github.com/redline-go/redline/lab/load/page"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/results"
)

// document returns the document of a run before it begins: the requested load, and its target. words
// describe the arrivals; a closed loop has none.
func (s *session) document(words string) *present.Document {
	p := s.plan
	d := &present.Document{
		Tool: cli.Version(), Command: redact.Args(os.Args[1:]), Started: time.Now(), URL: redact.Text(p.request.url.String()), Machine: s.machine,
		Series: []present.Point{}, Notes: slices.Clone(p.notes),
		Config: present.Config{
			Method: p.request.method, Headers: len(p.request.wire) - p.request.body, Body: p.request.body, Status: s.server.status,
			Connections: p.flags.connections, Ramp: p.rampText, Pipeline: p.flags.pipeline, Arrivals: words, Seed: p.seed, Requests: uint64(p.flags.requests),
			DurationSeconds: p.duration.Seconds(), WarmupSeconds: p.flags.warmup.Seconds(), TimeoutSeconds: p.flags.timeout.Seconds(), CPUs: p.cpus,
			Percentiles: p.percents,
		},
	}
	open := words != ""
	if most := p.most(open); most > d.Config.Connections {
		d.Config.Most = most
	}
	d.Config.Unasked = open && !p.asked && p.subscribers == nil
	p.describeUsers(&d.Config)
	if p.subscribers != nil {
		d.Stream = p.audience()
	}
	p.describeProtocol(&d.Config)
	if s.doubt != "" {
		d.Notes = append(d.Notes, s.doubt)
	}
	if len(s.server.processes.PIDs) > 0 {
		server := s.server.processes
		d.Server = &server
	}
	return d
}

// describeUsers adds the behaviour of users to the document.
func (p *plan) describeUsers(c *present.Config) {
	c.Unix = p.flags.users.unix
	c.Think, c.Checks = p.flags.users.think, p.flags.users.checks
	c.PerConnection, c.ConnectRate, c.Sources = p.flags.users.perConnection, p.users.dials, p.flags.users.sources
	if p.users.slow.Read > 0 || p.users.slow.Write > 0 {
		slow := p.users.slow
		slow.Connections = cmp.Or(slow.Connections, p.flags.connections)
		c.Slow = &slow
	}
	if p.users.streamed > 0 {
		c.Body = int(p.users.streamed)
	}
	if p.users.scenario != nil && p.users.scenario.Request == nil {
		c.Scenario, c.Method = p.users.scenario.Name, ""
	}
}

// describeProtocol adds the protocol.
func (p *plan) describeProtocol(c *present.Config) {
	if c.HTTP2 = p.flags.protocol.http2; p.flags.protocol.http2 {
		c.Streams = p.flags.protocol.streams
	}
	if s := p.protocol.TLS; s != nil {
		c.TLS = &present.TLSConfig{ServerName: s.ServerName, Insecure: s.Insecure, Resume: s.Resume, ClientCertificate: len(s.Certificate) > 0}
	}
}

// audience returns the part of a document about subscribers before the run.
func (p *plan) audience() *present.Stream {
	c := present.StreamConfigOf(p.subscribers)
	c.AnyID = p.flags.streams.ids == ""
	return &present.Stream{Config: c}
}

// progress says how much of a window that was cut short has been measured. Its duration is only
// a maximum if a number of requests was wanted.
func (p *plan) progress(r *spec.Result, wanted uint64) string {
	if wanted > 0 {
		return fmt.Sprintf("%s, %d of %d requests", report.Seconds(r.Seconds), r.Requests+results.CountErrors(r.Errors), wanted)
	}
	return fmt.Sprintf("%s of %s", report.Seconds(r.Seconds), report.Seconds(p.duration.Seconds()))
}

// conclude completes the document of a run with the measurements, and judges it. An aborted run
// has a document, and is an error.
func (p *plan) conclude(d *present.Document, m measured, arrivals *arrive.Plan, thresholds []objective.Objective) error {
	result := m.result
	if result.Cut {
		why := "interrupted"
		if result.GaveUp != "" {
			why = "given up"
		}
		d.Partial = fmt.Sprintf("%s after %s; the figures are of that time", why, p.progress(result, d.Config.Requests))
	}
	target := 0.0
	if arrivals != nil {
		if target = arrivals.Rate; len(arrivals.Stages) > 0 || arrivals.Burst.Factor != 0 {
			target = float64(result.Open.Due) / result.Seconds
		}
	}
	if n := result.Requests + results.CountErrors(result.Errors); arrivals == nil && n < d.Config.Requests && !result.Cut {
		d.Notes = append(d.Notes, fmt.Sprintf("the window was over after %s with %d of %d requests", report.Seconds(result.Seconds), n, d.Config.Requests))
	}
	d.Ask(arrivals)
	if err := d.Fill(result, target, thresholds); err != nil {
		return err
	}
	if err := errors.Join(d.FillSteps(arrivals, p.duration, result.Steps), d.FillRamp(p.ramp, p.duration, result.Ramp)); err != nil {
		return err
	}
	if err := m.addWorkers(d, target); err != nil {
		return err
	}
	if result.GaveUp != "" {
		return errors.New(result.GaveUp)
	}
	return nil
}

// addWorkers adds the workers, if there are several, to a document that has the sum of their
// results.
func (m measured) addWorkers(d *present.Document, target float64) error {
	if m.outcome == nil {
		return nil
	}
	var list []present.Worker
	for i, p := range m.outcome.Workers {
		w := present.Worker{
			Index: p.Share.Index, Host: p.Host, PID: p.PID, Connections: p.Share.Connections,
			Seconds: p.Seconds, Requests: p.Requests, RequestsPerSecond: p.Rate, Lost: p.Lost,
			Clock: results.Clock{OffsetMs: float64(p.Clock.Nanoseconds) / 1e6, UncertaintyMs: float64(p.Clock.Uncertainty) / 1e6, LateMs: float64(p.Late) / 1e6},
		}
		if r := m.workers[i]; r != nil {
			if err := d.FillWorker(&w, r, target*p.Share.Fraction); err != nil {
				return fmt.Errorf("worker %d: %w", i, err)
			}
		}
		list = append(list, w)
	}
	d.AddWorkers(list, m.outcome.Failures, m.outcome.Notes)
	return nil
}

// printAndSave prints the summary and saves the requested files.
func (p *plan) printAndSave(c *cobra.Command, d *present.Document) error {
	for _, out := range []struct {
		path  string
		write func(io.Writer) error
	}{
		{p.flags.json, d.Encode},
		{p.flags.csv, func(w io.Writer) error { return present.CSV(w, d.Series) }},
		{p.flags.hdr, func(w io.Writer) error { return present.HDR(w, d) }},
		{p.flags.junit, func(w io.Writer) error { return present.JUnit(w, d) }},
	} {
		if out.path == "" || out.path == "-" {
			continue
		}
		var text bytes.Buffer
		err := out.write(&text)
		if err == nil {
			err = file.Write(out.path, text.Bytes())
		}
		if err != nil {
			return fmt.Errorf("save the results: %w", err)
		}
	}
	if p.flags.html != "" {
		if err := cli.WritePage(p.flags.html, func(w io.Writer) error { return page.Write(w, d) }); err != nil {
			return err
		}
	}
	if err := appendSummary(p.flags.summary, d); err != nil {
		return err
	}
	print := func(w io.Writer) error {
		err := present.Summary(w, d, cli.ScreenOf(c, w))
		if err == nil && p.flags.gates {
			err = present.Gates(w, d)
		}
		return err
	}
	if p.flags.json != "-" {
		return print(c.OutOrStdout())
	}
	if !p.flags.quiet {
		if err := print(c.ErrOrStderr()); err != nil {
			return err
		}
	}
	return d.Encode(c.OutOrStdout())
}

// appendSummary appends the summary in Markdown to a file, which the other steps of a job write too. An
// empty path writes none.
func appendSummary(path string, d *present.Document) error {
	if path == "" {
		return nil
	}
	out, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		err = errors.Join(present.Markdown(out, d), out.Close())
	}
	if err != nil {
		return fmt.Errorf("save the summary: %w", err)
	}
	return nil
}

// exit returns the error that the command ends with.
func (p *plan) exit(ctx context.Context, d *present.Document, err error) error {
	switch {
	case ctx.Err() != nil:
		if d == nil {
			return interrupted(errInterrupted)
		}
		return cli.ExitCode(130)
	case err != nil:
		return err
	case !d.Valid && !p.flags.allowInvalid:
		return cli.ExitCode(ExitInvalid)
	case d.Broken() || d.Search != nil && d.Search.Rate == 0:
		return cli.ExitCode(ExitBroken)
	case !d.Kept() && !p.flags.allowInvalid:
		return cli.ExitCode(ExitInvalid)
	case !d.Kept():
		return cli.ExitCode(ExitBroken)
	}
	return nil
}
