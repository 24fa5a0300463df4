package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	load "github.com/redline-go/redline/lab/load/command"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/oom"
	"github.com/redline-go/redline/lab/oom/group"
	"github.com/redline-go/redline/lab/report"
)

const (
	warmup    = 200 * time.Millisecond
	aftermath = time.Second // for the kernel to write its log, and the process to be gone
)

// errInterrupted is the error of a run that was interrupted.
var errInterrupted = errors.New("interrupted")

// attempt makes one run. With an error, the run is what was seen until then; nil if it never began.
func (v *verb) attempt(ctx context.Context, score *int) (run *oom.Run, err error) {
	s, err := v.start(ctx, score)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	v.say("limit %s, resident memory %s", report.Bytes(float64(s.run.Limit), " "), report.Bytes(float64(s.run.Start), " "))
	if s.group == nil && s.ended() {
		return nil, fmt.Errorf("%s ended before it accepted connections: %s", s.child.Name(), s.child.How())
	}
	m := newMonitor(ctx, s)
	err = v.steps(ctx, s, m)
	v.settle(ctx, s, m)
	if len(s.run.Steps) == 0 && (err != nil || len(s.run.Kills) == 0) {
		if s.ended() {
			return nil, errors.Join(fmt.Errorf("%s ended before the load began: %s", s.child.Name(), s.child.How()), err)
		}
		return nil, err
	}
	s.run.Judge(v.Thresholds)
	if err != nil && len(s.run.Why) == 0 && s.run.Outcome == oom.Held {
		s.run.Valid, s.run.Why = false, []string{"not all steps were made: " + err.Error()}
	}
	return s.run, err
}

// steps raises the load until the server dies.
func (v *verb) steps(ctx context.Context, s *subject, m *monitor) (err error) {
	loading, stop := context.WithCancel(ctx)
	defer stop()
	finished := make(chan struct{})
	defer close(finished)
	go func() {
		select {
		case <-m.over:
			stop()
		case <-finished:
		}
	}()
	var runs *load.Runs
	defer func() {
		if runs != nil {
			err = errors.Join(err, runs.Close())
		}
	}()
	for i, l := range v.loads(v.body) {
		if runs == nil || l.Body > 0 {
			if runs, err = v.open(loading, runs, l); err != nil {
				return unlessDied(m, err)
			}
		}
		if err := v.step(loading, s, m, runs, l); err != nil || m.died() {
			return unlessDied(m, err)
		}
		if ctx.Err() != nil {
			return errInterrupted
		}
		v.say("step %d of %d: %s, %s", i+1, v.Steps, l, told(&s.run.Steps[i]))
	}
	return nil
}

// open prepares the runs of a load in place of others.
func (v *verb) open(ctx context.Context, old *load.Runs, l oom.Load) (*load.Runs, error) {
	if old != nil {
		if err := old.Close(); err != nil {
			return nil, err
		}
	}
	flags := &v.Load
	if l.Body > 0 {
		flags = flags.Uploading(l.Body)
	}
	return flags.Open(ctx, v.url, v.changed)
}

// unlessDied returns an error that is not a consequence of the server's end. The end is noticed
// after its connections are closed.
func unlessDied(m *monitor, err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-m.over:
		return nil
	case <-time.After(2 * lookEvery):
		return err
	}
}

// step makes one step.
func (v *verb) step(ctx context.Context, s *subject, m *monitor, runs *load.Runs, l oom.Load) error {
	began := time.Now()
	shape := load.Shape{Connections: l.Connections, Rate: l.Rate, Warmup: warmup, Window: v.Step, OnWindow: func() { began = time.Now() }}
	entered := m.since(began)
	s.run.Steps = append(s.run.Steps, oom.Step{Load: l, Began: entered})
	step := &s.run.Steps[len(s.run.Steps)-1]
	doc, err := runs.Run(ctx, shape)
	step.Ended = m.since(time.Now())
	if doc != nil {
		fill(step, doc, m.since(began))
	}
	if step.Cut = m.died(); step.Cut {
		return nil
	}
	return err
}

// fill takes the figures of a run; window is when it began.
func fill(step *oom.Step, doc *present.Document, window float64) {
	// Whether a server holds does not depend on what disturbs the machine; when latency gives way does.
	for _, g := range doc.Disturbed() {
		step.Disturbed = append(step.Disturbed, g.Text)
	}
	step.Valid, step.Why = doc.BelievedDisturbed()
	step.Done, step.Errors = new(doc.RequestsPerSecond), new(doc.ErrorRatio)
	step.P50, step.P99 = doc.Latency.P50, doc.Latency.P99
	for _, p := range doc.Series {
		point := oom.Point{T: window + p.T, P99: p.P99Us}
		if all := p.Counted.Requests + p.Errors; all > 0 {
			point.Errors = float64(p.Errors) / float64(all)
		}
		step.Points = append(step.Points, point)
	}
}

// told is a step in a few words.
func told(s *oom.Step) string {
	text := ""
	if s.Done != nil {
		text = report.PerSecond(*s.Done)
	}
	if s.P99 != nil {
		text += ", p99 " + report.Micros(*s.P99, " ")
	}
	return text
}

// settle finds out how the run ended.
func (v *verb) settle(ctx context.Context, s *subject, m *monitor) {
	died := m.died()
	m.close()
	r := s.run
	if !died {
		r.Outcome, r.End = oom.Held, m.since(time.Now())
		v.peak(s)
		return
	}
	r.End = m.since(m.at)
	last := max(len(r.Steps)-1, 0)
	if m.stopped {
		r.Outcome = oom.Stopped
		r.Signs = append(r.Signs, oom.Sign{Kind: oom.SignStop, Step: last, T: r.End, Text: "resident memory was more than twice GOMEMLIMIT, so redline ended the server"})
		return
	}
	r.Outcome = oom.Died
	victims := s.victims(ctx, m)
	if s.ended() {
		r.How = s.child.How()
	}
	r.Kills = s.kills(victims, m)
	for _, k := range r.Kills {
		r.Signs = append(r.Signs, oom.Sign{Kind: oom.SignKill, Step: last, T: k.T, Text: "the kernel killed " + k.Process.String()})
	}
	if len(r.Kills) == 0 {
		r.Signs = append(r.Signs, oom.Sign{Kind: oom.SignEnd, Step: last, T: r.End, Text: "the process that was started ended: " + r.How})
	}
	v.peak(s)
}

// peak reads the highest memory of the group.
func (v *verb) peak(s *subject) {
	if s.group == nil {
		return
	}
	n, err := s.group.Peak()
	if err != nil {
		s.run.Missing = append(s.run.Missing, fmt.Sprintf("the peak of the group: %v", err))
		return
	}
	s.run.Peak = &n
}

// victims waits until the kernel's log has the victims, and returns them.
func (s *subject) victims(ctx context.Context, m *monitor) (list []group.Victim) {
	if s.group == nil || m.killed() == 0 {
		return nil
	}
	for deadline := time.Now().Add(aftermath); ; time.Sleep(lookEvery) {
		if s.log != nil {
			more, err := s.log.Victims(s.group.Name())
			list = append(list, more...)
			if err != nil {
				s.run.Missing = append(s.run.Missing, err.Error())
				return list
			}
		}
		if len(list) >= m.killed() || ctx.Err() != nil || time.Now().After(deadline) {
			return list
		}
	}
}

// killed returns how many processes the kernel has killed.
func (m *monitor) killed() int {
	if n, err := m.subject.group.Kills(); err == nil {
		return n
	}
	return m.kills
}

// The ways in which a victim is known.
const (
	fromLog     = "the kernel's log"
	fromExit    = "it ended by SIGKILL when the group counted a kill"
	fromMembers = "it was gone when the group counted a kill"
)

// kills returns the killed processes with what was known of them before.
func (s *subject) kills(victims []group.Victim, m *monitor) (list []oom.Kill) {
	at := s.run.End
	for _, v := range victims {
		k := oom.Kill{Process: oom.Process{PID: v.PID, Name: v.Name, Root: v.PID == s.child.PID()}, T: at, Source: fromLog}
		for _, p := range m.members {
			if p.PID == v.PID {
				k.Process = p
			}
		}
		list = append(list, k)
	}
	if len(list) > 0 || s.group == nil || m.killed() == 0 {
		return list
	}
	now := map[int]bool{}
	for _, p := range s.members() {
		now[p.PID] = true
	}
	for _, p := range m.members {
		switch {
		case now[p.PID]:
		case p.Root && s.ended() && s.child.Killed():
			return []oom.Kill{{Process: p, T: at, Source: fromExit}}
		case !p.Root:
			list = append(list, oom.Kill{Process: p, T: at, Source: fromMembers})
		}
	}
	return list
}
