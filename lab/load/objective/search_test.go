package objective

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// model is a server of queueing theory (M/M/1): it serves capacity requests a second, one at a
// time, with exponential service times. Its p99 response time is ln(100)/(capacity-rate)
// seconds.
type model struct {
	capacity float64
	limit    float64 // seconds of p99
	believed float64 // trials at higher rates are invalid; 0: all are valid
	flaky    map[int]Verdict
	asked    int
}

func (m *model) try(rate float64, _ string) (Trial, error) {
	m.asked++
	if v, ok := m.flaky[m.asked]; ok {
		return Trial{Verdict: v, Why: "made up"}, nil
	}
	p99 := math.Inf(1)
	if rate < m.capacity {
		p99 = math.Log(100) / (m.capacity - rate)
	}
	switch {
	case m.believed > 0 && rate > m.believed:
		return Trial{Verdict: Invalid}, nil
	case p99 < m.limit:
		return Trial{Verdict: Kept}, nil
	}
	return Trial{Verdict: Broken}, nil
}

// answer returns the highest rate that keeps the limit.
func (m *model) answer() float64 { return m.capacity - math.Log(100)/m.limit }

func options() SearchOptions {
	return SearchOptions{Start: 1000, Low: 1, Precision: 0.05, Confirm: 2, Again: 2, Trials: 60}
}

func TestFind(t *testing.T) {
	for _, capacity := range []float64{700, 1500, 20_000, 1e6} {
		m := &model{capacity: capacity, limit: 0.010}
		f, err := Find(options(), m.try)
		if err != nil {
			t.Fatal(err)
		}
		want := m.answer()
		if f.Rate >= want || f.Above < want || f.Above > 1.0501*f.Rate {
			t.Errorf("capacity %v: between %v and %v, want %v", capacity, f.Rate, f.Above, want)
		}
		if !f.Complete || f.Confirmed != 2 || f.Doubtful || !strings.Contains(f.Text, "kept in 3 of 3 runs") {
			t.Errorf("capacity %v: %+v", capacity, f)
		}
	}
}

func TestFindNothing(t *testing.T) {
	o := options()
	o.Low = 300
	f, err := Find(o, (&model{capacity: 100, limit: 1}).try)
	if err != nil || f.Rate != 0 || f.Above != 300 || !f.Complete {
		t.Errorf("%+v, %v", f, err)
	}
	if f.Text != "no rate keeps the objective: 300/s already breaks it" {
		t.Error(f.Text)
	}
}

func TestFindHasAnEnd(t *testing.T) {
	o := options()
	o.High = 5000
	f, err := Find(o, (&model{capacity: 1e6, limit: 1}).try)
	if err != nil || f.Rate != 5000 || f.Above != 0 || !strings.HasPrefix(f.Text, "at least 5.00k/s") {
		t.Errorf("%+v, %v", f, err)
	}
}

// If the generator is the limit, the search reports that it is not the server's.
func TestWhatIsNotBelieved(t *testing.T) {
	m := &model{capacity: 1e6, limit: 0.010, believed: 3000}
	f, err := Find(options(), m.try)
	if err != nil || !f.Doubtful || f.Rate > 3000 || f.Above < 3000 || f.Above > 1.0501*f.Rate {
		t.Errorf("%+v, %v", f, err)
	}
	if !strings.HasPrefix(f.Text, "at least ") || !strings.Contains(f.Text, "is not valid") {
		t.Error(f.Text)
	}
}

// An invalid trial is repeated, and does not change the result.
func TestInvalidTrialIsRepeated(t *testing.T) {
	calm, err := Find(options(), (&model{capacity: 9000, limit: 0.010}).try)
	if err != nil {
		t.Fatal(err)
	}
	disturbed, err := Find(options(), (&model{capacity: 9000, limit: 0.010, flaky: map[int]Verdict{1: Invalid, 5: Invalid, 6: Invalid}}).try)
	if err != nil {
		t.Fatal(err)
	}
	if calm.Rate != disturbed.Rate || len(disturbed.Trials) != len(calm.Trials)+3 {
		t.Errorf("%v after %d trials, undisturbed %v after %d", disturbed.Rate, len(disturbed.Trials), calm.Rate, len(calm.Trials))
	}
}

// A rate that was kept by chance fails its confirmation.
func TestConfirmation(t *testing.T) {
	calm := &model{capacity: 9000, limit: 0.010}
	first, err := Find(options(), calm.try)
	if err != nil {
		t.Fatal(err)
	}
	lucky := &model{capacity: 9000, limit: 0.010, flaky: map[int]Verdict{len(first.Trials): Broken}}
	f, err := Find(options(), lucky.try)
	if err != nil || f.Rate >= first.Rate || f.Above != first.Rate || f.Confirmed != 2 {
		t.Errorf("%v below %v, confirmed %d times, %v; before %v", f.Rate, f.Above, f.Confirmed, err, first.Rate)
	}
	// Also if it was the first rate, with no lower rate kept.
	o := options()
	o.High = 1000
	f, err = Find(o, (&model{capacity: 9000, limit: 0.010, flaky: map[int]Verdict{2: Broken}}).try)
	if err != nil || f.Rate < 950 || f.Rate >= 1000 || f.Above != 1000 || !f.Complete {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestFindIsBounded(t *testing.T) {
	o := options()
	o.Trials = 5
	m := &model{capacity: 1e6, limit: 0.010}
	f, err := Find(o, m.try)
	if err != nil || m.asked != 5 || f.Complete || !strings.Contains(f.Text, "was not completed") {
		t.Errorf("%d trials, %+v, %v", m.asked, f, err)
	}
}

func TestErrorKeepsWhatWasFound(t *testing.T) {
	stop := errors.New("stop")
	n := 0
	f, err := Find(options(), func(float64, string) (Trial, error) {
		if n++; n > 3 {
			return Trial{}, stop
		}
		return Trial{Verdict: Kept}, nil
	})
	if !errors.Is(err, stop) || f.Rate != 4000 || f.Complete || len(f.Trials) != 3 {
		t.Errorf("%+v, %v", f, err)
	}
}
