// Package search finds the highest rate at which a load keeps its objective. It
// is pure: what a rate does is asked of a function.
//
//	bracket   500 kept ── 1000 kept ── 2000 kept ── 4000 broken
//	bisect                             2000 ─ 2828 kept ─ 3364 broken ─ ...
//	confirm   the rate that is left has to be kept again, twice
//
// Rates are halved by ratio, not by difference: what matters is how far the
// answer can be off in percent.
package search

import (
	"errors"
	"fmt"
	"math"
)

// Verdict is what a trial at a rate says.
type Verdict string

// The verdicts.
const (
	Kept    Verdict = "kept"    // the objective
	Broken  Verdict = "broken"  // the objective, or the server did not keep up
	Invalid Verdict = "invalid" // the measurement is not to be believed
)

// A Trial is one run at a rate.
type Trial struct {
	Rate    float64  `json:"rate"`  // arrivals a second
	Phase   string   `json:"phase"` // bracket, bisect or confirm
	Verdict Verdict  `json:"verdict"`
	Why     string   `json:"why,omitempty"` // of one that is broken or invalid
	P50     *float64 `json:"p50_us"`        // microseconds; nil when the samples could not carry it
	P99     *float64 `json:"p99_us"`
}

// Options says where to look.
type Options struct {
	Start     float64 // rate of the first trial
	Low, High float64 // rates between which to look; High 0: no end
	Precision float64 // the bracket is narrow enough when its ends are this far apart, as a share: 0.05
	Confirm   int     // how often the rate that was found has to be kept again
	Again     int     // how often an invalid trial is repeated before its rate counts as out of reach
	Trials    int     // the most that there are
}

// Found is how a search ended.
type Found struct {
	Rate      float64 `json:"rate"`      // the highest that was kept; 0 when none was
	Above     float64 `json:"above"`     // the lowest above it that was not kept, or not believed; 0 when none was tried
	Confirmed int     `json:"confirmed"` // how often Rate was kept beyond the first time
	Doubtful  bool    `json:"doubtful"`  // Above was not believed: the end is that of the generator, or of the machine
	Complete  bool    `json:"complete"`  // the search came to its end
	Text      string  `json:"text"`      // the rate and how sure it is, in a sentence
	Trials    []Trial `json:"trials"`
}

// Find looks for the rate. try runs one trial, in the phase that it is told, and
// its error ends the search; what was found until then is returned with it.
func Find(o Options, try func(rate float64, phase string) (Trial, error)) (*Found, error) {
	s := &seeker{Options: o, try: try, found: &Found{Trials: []Trial{}}}
	err := s.run()
	if errors.Is(err, errEnough) {
		err = nil
	} else if err == nil {
		s.found.Complete = true
	}
	s.found.Text = s.text()
	return s.found, err
}

// errEnough ends a search that used up its trials.
var errEnough = errors.New("no trials left")

type seeker struct {
	Options
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

// confirm asks for the rate that was found again.
func (s *seeker) confirm() (bool, error) {
	for s.found.Confirmed = 0; s.found.Confirmed < s.Confirm; s.found.Confirmed++ {
		if kept, err := s.ask(s.found.Rate, "confirm"); !kept || err != nil {
			return false, err
		}
	}
	return true, nil
}

// retreat gives up the rate that was found, which is the upper end by now: the
// highest below it that was kept takes its place, or is still to be found. It
// reports false when there is none to look for.
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

// ask runs a trial, and repeats it while it is invalid; it reports whether the
// rate was kept, and moves the bracket.
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

// text is the rate and how sure it is.
func (s *seeker) text() string {
	f := s.found
	var text string
	switch {
	case f.Rate == 0 && f.Above == 0:
		return "no rate was tried to its end"
	case f.Rate == 0 && f.Doubtful:
		return fmt.Sprintf("no rate could be believed: already %.0f/s was not valid", f.Above)
	case f.Rate == 0:
		return fmt.Sprintf("no rate keeps the objective: already %.0f/s breaks it", f.Above)
	case f.Above == 0:
		text = fmt.Sprintf("at least %.0f/s: no higher rate was tried", f.Rate)
	case f.Doubtful:
		text = fmt.Sprintf("at least %.0f/s: at %.0f/s the measurement is not to be believed, and the limit is not the server's", f.Rate, f.Above)
	default:
		text = fmt.Sprintf("%.0f/s: it was kept there, and broken at %.0f/s (%.0f %% higher)", f.Rate, f.Above, 100*(f.Above/f.Rate-1))
	}
	if f.Confirmed > 0 {
		text += fmt.Sprintf("; kept in %d of %d runs there", f.Confirmed+1, f.Confirmed+1)
	}
	if !f.Complete {
		text += "; the search did not come to its end"
	}
	return text
}
