package objective

import (
	"errors"
	"fmt"
	"math"

	"github.com/redline-go/redline/lab/report"
)

// Verdict is the result of a trial at a rate.
type Verdict string

// The verdicts.
const (
	Kept    Verdict = "kept"    // the objective was kept
	Broken  Verdict = "broken"  // the objective was broken, or the server did not keep up
	Invalid Verdict = "invalid" // the measurement is not valid
)

// A Trial is one run at a rate.
type Trial struct {
	Rate    float64  `json:"rate"`  // arrivals a second
	Phase   string   `json:"phase"` // bracket, bisect or confirm
	Verdict Verdict  `json:"verdict"`
	Why     string   `json:"why,omitempty"` // if broken or invalid
	P50     *float64 `json:"p50_us"`        // microseconds; nil if there are too few samples
	P99     *float64 `json:"p99_us"`
}

// SearchOptions are the parameters of a search.
type SearchOptions struct {
	Start     float64 // rate of the first trial
	Low, High float64 // limits of the search; High 0: no limit
	Precision float64 // the search ends when the ends of the bracket differ by this share, for example 0.05
	Confirm   int     // how often the resulting rate must be kept again
	Again     int     // how often an invalid trial is repeated before its rate counts as out of reach
	Trials    int     // maximum number of trials
}

// Found is the result of a search.
type Found struct {
	Rate      float64 `json:"rate"`      // highest rate that was kept; 0 if none was
	Above     float64 `json:"above"`     // lowest rate above it that was not kept, or not valid; 0 if none was tried
	Confirmed int     `json:"confirmed"` // how often Rate was kept again after the first time
	Doubtful  bool    `json:"doubtful"`  // Above was not valid: the limit is that of the generator, or of the machine
	Complete  bool    `json:"complete"`  // the search was completed
	Text      string  `json:"text"`      // the rate and its certainty, in a sentence
	Trials    []Trial `json:"trials"`
}

// Find searches for the highest rate that keeps the objective. try runs one trial in the
// given phase; an error of try ends the search, and Find returns it with the result so far.
//
//	bracket   500 kept ── 1000 kept ── 2000 kept ── 4000 broken
//	bisect                             2000 ─ 2828 kept ─ 3364 broken ─ ...
//	confirm   the resulting rate has to be kept again, twice
//
// The bracket is halved by ratio, not by difference: what matters is the error of the
// result in percent.
func Find(o SearchOptions, try func(rate float64, phase string) (Trial, error)) (*Found, error) {
	s := &seeker{SearchOptions: o, try: try, found: &Found{Trials: []Trial{}}}
	err := s.run()
	if errors.Is(err, errEnough) {
		err = nil
	} else if err == nil {
		s.found.Complete = true
	}
	s.found.Text = s.text()
	return s.found, err
}

// errEnough ends a search that has used all of its trials.
var errEnough = errors.New("no trials left")

type seeker struct {
	SearchOptions
	try   func(float64, string) (Trial, error)
	found *Found
}

func (s *seeker) run() error {
	for {
		if s.found.Rate == 0 {
			if err := s.bracket(); err != nil {
				return err
			}
		}
		if s.found.Rate == 0 {
			return nil
		}
		if err := s.bisect(); err != nil {
			return err
		}
		kept, err := s.confirm()
		if kept || err != nil {
			return err
		}
		if !s.retreat() {
			return nil
		}
	}
}

// bracket doubles the rate until it is not kept, or halves it until it is.
func (s *seeker) bracket() error {
	rate := s.clamp(s.Start)
	for {
		kept, err := s.ask(rate, "bracket")
		switch {
		case err != nil:
			return err
		case kept && (s.found.Above > 0 || s.High > 0 && rate >= s.High):
			return nil
		case !kept && (s.found.Rate > 0 || rate <= s.Low):
			return nil
		case kept:
			rate = s.clamp(2 * rate)
		default:
			rate = s.clamp(rate / 2)
		}
	}
}

func (s *seeker) clamp(rate float64) float64 {
	rate = max(rate, s.Low)
	if s.High > 0 {
		rate = min(rate, s.High)
	}
	return rate
}

// bisect narrows the bracket.
func (s *seeker) bisect() error {
	for s.found.Above > s.found.Rate*(1+s.Precision) {
		if _, err := s.ask(math.Sqrt(s.found.Rate*s.found.Above), "bisect"); err != nil {
			return err
		}
	}
	return nil
}

// confirm runs further trials at the rate that was found.
func (s *seeker) confirm() (bool, error) {
	for s.found.Confirmed = 0; s.found.Confirmed < s.Confirm; s.found.Confirmed++ {
		if kept, err := s.ask(s.found.Rate, "confirm"); !kept || err != nil {
			return false, err
		}
	}
	return true, nil
}

// retreat gives up the rate that was found, which is the upper end by now: it is replaced
// by the highest lower rate that was kept, or that one is still to be found. It returns
// false if there is none.
func (s *seeker) retreat() bool {
	from := s.found.Rate
	s.found.Rate, s.found.Confirmed = 0, 0
	for _, t := range s.found.Trials {
		if t.Verdict == Kept && t.Rate < from {
			s.found.Rate = max(s.found.Rate, t.Rate)
		}
	}
	s.Start = from / 2
	return from > s.Low
}

// ask runs a trial, and repeats it while it is invalid; it reports whether the rate was
// kept, and updates the bracket.
func (s *seeker) ask(rate float64, phase string) (bool, error) {
	for n := 0; ; n++ {
		if len(s.found.Trials) >= s.Trials {
			return false, errEnough
		}
		t, err := s.try(rate, phase)
		if err != nil {
			return false, err
		}
		t.Rate, t.Phase = rate, phase
		s.found.Trials = append(s.found.Trials, t)
		switch {
		case t.Verdict == Kept:
			s.found.Rate = max(s.found.Rate, rate)
			return true, nil
		case t.Verdict == Broken || n >= s.Again:
			if s.found.Above == 0 || rate <= s.found.Above {
				s.found.Above, s.found.Doubtful = rate, t.Verdict == Invalid
			}
			return false, nil
		}
	}
}

// text describes the rate and its certainty.
func (s *seeker) text() string {
	f := s.found
	var text string
	switch {
	case f.Rate == 0 && f.Above == 0:
		return "no trial was completed"
	case f.Rate == 0 && f.Doubtful:
		return fmt.Sprintf("no rate was valid: the measurement at %s/s was already invalid", report.PerSecond(f.Above))
	case f.Rate == 0:
		return fmt.Sprintf("no rate keeps the objective: %s/s already breaks it", report.PerSecond(f.Above))
	case f.Above == 0:
		text = fmt.Sprintf("at least %s/s: no higher rate was tried", report.PerSecond(f.Rate))
	case f.Doubtful:
		text = fmt.Sprintf("at least %s/s: the measurement at %s/s is not valid, so the limit is not the server's", report.PerSecond(f.Rate), report.PerSecond(f.Above))
	default:
		text = fmt.Sprintf("%s/s: kept there, and broken at %s/s (%.0f %% higher)", report.PerSecond(f.Rate), report.PerSecond(f.Above), 100*(f.Above/f.Rate-1))
	}
	if f.Confirmed > 0 {
		text += fmt.Sprintf("; kept in %d of %d runs there", f.Confirmed+1, f.Confirmed+1)
	}
	if !f.Complete {
		text += "; the search was not completed"
	}
	return text
}
