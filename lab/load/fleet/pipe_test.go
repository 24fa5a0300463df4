package fleet

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// run carries out a plan with processes, and checks that all of them have ended.
func run(t *testing.T, plan Plan, mode string, before func(*Processes, *Plan)) (*Outcome, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	defer cancel()
	p := processes(t, len(plan.Orders), mode)
	if before != nil {
		before(p, &plan)
	}
	o, err := Coordinate(ctx, p, plan)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	for i := range plan.Orders {
		if p.children[i].cmd.ProcessState == nil {
			t.Errorf("worker %d was not waited for", i)
		}
	}
	return o, err
}

func TestProcesses(t *testing.T) {
	o, err := run(t, plan(t, orders{Ticks: 100}, orders{Ticks: 100}, orders{Ticks: 100}), "work", nil)
	if err != nil {
		t.Fatal(err)
	}
	if o.Requests != 3000 || o.Errors["status"] != 300 || o.Rate != 30 {
		t.Errorf("%d requests, errors %v, %v/s", o.Requests, o.Errors, o.Rate)
	}
	for _, w := range o.Workers {
		if w.Lost != "" || w.Clock.Exchanges < exchanges || w.Late < 0 || w.PID == 0 || len(w.Result) == 0 {
			t.Errorf("%+v", w)
		}
	}
	var sum uint64
	for _, p := range o.Series {
		sum += p.Requests
	}
	if sum != 3000 {
		t.Errorf("%d requests in the series", sum)
	}
}

func TestProcessKilled(t *testing.T) {
	o, err := run(t, plan(t, orders{Ticks: 100}, orders{Ticks: 50, Then: "hang"}, orders{Ticks: 100}), "work", func(p *Processes, plan *Plan) {
		killed := false
		plan.OnPoint = func(Point) { // all workers have passed ten seconds
			if killed {
				return
			}
			killed = true
			if err := p.children[1].cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	// How many of its ticks were in transit when it was killed is random.
	w := o.Workers[1]
	if w.Requests < 100 || w.Requests > 500 || o.Requests != 2000+w.Requests || o.Errors["status"] != 200 || o.Errors[ErrLost] != w.Requests/10 {
		t.Errorf("%d requests, %d of worker 1, errors %v", o.Requests, w.Requests, o.Errors)
	}
	for _, want := range []string{"worker 1 (process ", "signal: killed", fmt.Sprintf("its %d requests of the ", w.Requests)} {
		if all := strings.Join(o.Failures, "\n"); !strings.Contains(all, want) {
			t.Errorf("%q does not contain %q", all, want)
		}
	}
}

func TestProcessFails(t *testing.T) {
	for then, want := range map[string]string{
		"fail":   "generator: too many open files",
		"garble": "its generator emitted an invalid event",
	} {
		o, err := run(t, plan(t, orders{Ticks: 10, Then: then}, orders{Ticks: 10}), "work", nil)
		if err != nil {
			t.Fatal(err)
		}
		// Ticks that a worker sent before it failed are counted.
		if all := strings.Join(o.Failures, "\n"); !strings.Contains(all, want) || o.Requests != 200 {
			t.Errorf("%s: %d requests, failures %q", then, o.Requests, o.Failures)
		}
	}
}

// A failure before the start ends the run with its cause.
func TestNoStart(t *testing.T) {
	for _, c := range []struct {
		mode, want string
		second     orders
		change     func(*Plan)
	}{
		{"work", "worker 1 (process", orders{Then: "refuse"}, nil},
		{"work", "connection refused", orders{Then: "refuse"}, nil},
		{"crash", "a worker ended before it joined: its process ended: exit status 3: panic: out of cheese", orders{}, nil},
		{"work", "0 of 2 workers joined within 1ns; missing: worker 0, 1", orders{}, func(p *Plan) { p.Join = 1 }},
	} {
		p := plan(t, orders{Ticks: 10}, c.second)
		if c.change != nil {
			c.change(&p)
		}
		if o, err := run(t, p, c.mode, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v, %v; want %q", o, err, c.want)
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	p := processes(t, 2, "work")
	plan := plan(t, orders{Ticks: 10, Then: "hang"}, orders{Ticks: 10, Then: "hang"})
	plan.OnMoment = func(m Moment) {
		if m == Opened {
			cancel()
		}
	}
	if _, err := Coordinate(ctx, p, plan); err != context.Canceled {
		t.Errorf("got %v", err)
	}
	if err := p.Close(); err != nil { // no process had to be killed
		t.Error(err)
	}
}

// An interrupted run has the result until then, and reports each moment.
func TestCut(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p := processes(t, 2, "work")
	plan := plan(t, orders{Ticks: 50, Then: "cut"}, orders{Ticks: 50, Then: "cut"})
	var moments []Moment
	plan.OnLost = func(why string) { t.Error(why) }
	plan.OnMoment = func(m Moment) {
		if moments = append(moments, m); m == Opened {
			cancel()
		}
	}
	o, err := Coordinate(ctx, p, plan)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err != nil || !o.Cut || o.Requests != 1000 || len(o.Workers[1].Result) == 0 {
		t.Fatalf("%v, %+v", err, o)
	}
	if !slices.Equal(moments, []Moment{Connected, Opened, Closed}) {
		t.Errorf("moments %v", moments)
	}
}

// An interrupted worker reports its end at once instead of falling silent.
func TestWorkerInterrupted(t *testing.T) {
	p := processes(t, 2, "work")
	plan := plan(t, orders{Ticks: 10, Then: "hang"}, orders{Ticks: 10})
	var lost []string
	plan.OnLost = func(why string) { lost = append(lost, why) }
	plan.OnMoment = func(m Moment) {
		if m == Opened {
			if err := p.children[0].cmd.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
		}
	}
	o, err := Coordinate(t.Context(), p, plan)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err != nil || len(lost) != 1 || !strings.Contains(lost[0], "worker 0 (process ") || !strings.Contains(lost[0], "it was stopped: ") {
		t.Fatalf("%v, lost %q, %+v", err, lost, o)
	}
}

// A worker ends when its coordinator does, in any phase.
func TestWorkerWithoutCoordinator(t *testing.T) {
	p := processes(t, 1, "work")
	for m := range p.Inbox() {
		if m.Join != nil {
			break
		}
	}
	if err := p.Send("0", &Message{Order: &Order{Spec: []byte(`{"Then":"hang"}`)}}); err != nil {
		t.Fatal(err)
	}
	if err := p.Send("0", &Message{Start: &Start{}}); err != nil {
		t.Fatal(err)
	}
	for m := range p.Inbox() {
		if m.Began != nil {
			break
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if said := p.children[0].stderr.String(); !strings.Contains(said, "the coordinator is gone") {
		t.Errorf("standard error %q", said)
	}
}

// A child that does not end is killed and waited for.
func TestStubbornProcess(t *testing.T) {
	p, err := StartProcesses(1, stubborn, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.patience = 10 * time.Millisecond
	if err := p.Close(); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("got %v", err)
	}
	if p.children[0].cmd.ProcessState == nil {
		t.Error("it was not waited for")
	}
}

func stubborn(int) *exec.Cmd { return exec.Command("/bin/sleep", "60") }
