package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/diagnose/zoo"
)

// report is what the score needs of a report of redline diagnose.
type report struct {
	Valid   bool    `json:"valid"`
	Ceiling float64 `json:"ceiling"`
	Causes  []cause `json:"causes"`
	Loads   []struct {
		Name    string  `json:"name"`
		CPU     float64 `json:"cpu"`
		Latency struct {
			Mean float64
		} `json:"latency"`
	} `json:"loads"`
	Ended string `json:"-"` // how the server ended before it was stopped; empty: it did not
}

type cause struct {
	ID      string `json:"id"`
	Outside bool   `json:"outside"` // the machine's, and not the server's
	Gain    struct {
		CPU     float64 `json:"cpu"`
		Latency float64 `json:"latency"`
		Ceiling float64 `json:"ceiling"`
		Fatal   bool    `json:"fatal"`
	} `json:"gain"`
}

// share is the greatest of the gains, as a share of what there is now.
func (c *cause) share() float64 {
	return max(c.Gain.CPU, c.Gain.Latency, 1-1/(1+max(c.Gain.Ceiling, 0)))
}

// row is one species with what was found.
type row struct {
	species    zoo.Species
	sick, twin report
	failed     string // why there is no result
}

// place returns at which place a cause was named, from 1; 0: it was not.
func (r *row) place(id string) int {
	return 1 + slices.IndexFunc(r.sick.Causes, func(c cause) bool { return c.ID == id })
}

// right reports whether the planted cause, or one of two, is first, and whether all are among the
// first three.
func (r *row) right() (first, three bool) {
	planted := append([]string{r.species.Cause}, r.species.With...)
	three = true
	for _, id := range planted {
		p := r.place(id)
		first = first || p == 1
		three = three && p >= 1 && p <= 3
	}
	return first, three
}

// most is the gain of a cause above which a healthy server counts as blamed.
const most = 0.05

// blamed returns the first cause of the twin that would gain more; empty if there is none.
func (r *row) blamed() string {
	for i := range r.twin.Causes {
		if c := &r.twin.Causes[i]; !c.Outside && (c.share() > most || c.Gain.Fatal) {
			return fmt.Sprintf("%s %.0f %%", c.ID, 100*c.share())
		}
	}
	return ""
}

// measured returns what the twin gains: the greatest share of CPU, latency or ceiling.
func (r *row) measured() float64 {
	gain := 0.0
	if r.twin.Ceiling > 0 {
		gain = 1 - r.sick.Ceiling/r.twin.Ceiling
	}
	for i := range min(len(r.sick.Loads), len(r.twin.Loads)) {
		s, t := r.sick.Loads[i], r.twin.Loads[i]
		if s.CPU > 0 {
			gain = max(gain, 1-t.CPU/s.CPU)
		}
		if s.Name == "low" && s.Latency.Mean > 0 {
			gain = max(gain, 1-t.Latency.Mean/s.Latency.Mean)
		}
	}
	return gain
}

// estimated returns the gain of the planted cause; false if it was not named, or is one that ends
// the server, whose gain is no share.
func (r *row) estimated() (float64, bool) {
	p := r.place(r.species.Cause)
	if p == 0 || r.sick.Causes[p-1].Gain.Fatal {
		return 0, false
	}
	return r.sick.Causes[p-1].share(), true
}

func (r *row) line() string {
	if r.failed != "" {
		return fmt.Sprintf("%-24s FAILED: %s", r.species.Name, r.failed)
	}
	var found []string
	for i := range r.sick.Causes[:min(len(r.sick.Causes), 4)] {
		c := &r.sick.Causes[i]
		found = append(found, fmt.Sprintf("%s %.0f%%", c.ID, 100*c.share()))
	}
	first, three := r.right()
	mark := "MISSED"
	if first {
		mark = "first"
	} else if three {
		mark = "three"
	}
	note := ""
	if !r.sick.Valid || !r.twin.Valid {
		note = " (invalid load)"
	}
	return fmt.Sprintf("%-24s %-7s %s | twin gains %.0f%%, blamed: %s%s", r.species.Name, mark,
		strings.Join(found, ", "), 100*r.measured(), cmp.Or(r.blamed(), "no"), note)
}

// totals are the results of all.
type totals struct {
	species, first, three, twins, healthy, failed int
	errors                                        []float64 // of the estimates, relative
}

func sum(all []row) (t totals) {
	for i := range all {
		r := &all[i]
		if r.failed != "" {
			t.failed++
			continue
		}
		t.species++
		t.twins++
		first, three := r.right()
		if first {
			t.first++
		}
		if three {
			t.three++
		}
		if r.blamed() == "" {
			t.healthy++
		}
		if e, ok := r.estimated(); ok && r.measured() > 0 {
			t.errors = append(t.errors, math.Abs(e/r.measured()-1))
		}
	}
	slices.Sort(t.errors)
	return t
}

// median is the median error of the estimates; NaN without one.
func (t *totals) median() float64 {
	if len(t.errors) == 0 {
		return math.NaN()
	}
	return t.errors[len(t.errors)/2]
}

func (t *totals) text() string {
	return fmt.Sprintf("%d services: the planted cause first in %d, all planted among the first three in %d; %d of %d twins without a cause above %.0f %%; "+
		"median error of the estimated gain %.0f %%; %d could not be diagnosed",
		t.species, t.first, t.three, t.healthy, t.twins, 100*most, 100*t.median(), t.failed)
}

// goals returns what of the goals was missed.
func (t *totals) goals() error {
	var errs []error
	miss := func(ok bool, text string) {
		if !ok {
			errs = append(errs, errors.New(text))
		}
	}
	n := float64(t.species)
	miss(float64(t.first) >= 0.9*n, "the planted cause is first in less than 90 %")
	miss(t.three == t.species, "a planted cause is not among the first three")
	miss(float64(t.healthy) >= 0.95*n, "more than 5 % of the healthy twins are blamed")
	miss(t.median() < 1.0/3, "the median error of the estimated gain is a third or more")
	miss(t.failed == 0, "some could not be diagnosed")
	return errors.Join(errs...)
}

// The markers of the table in the document.
const (
	begin = "<!-- zoo: generated by make zoo -->\n"
	end   = "<!-- end of zoo -->\n"
)

// write replaces the table in a document.
func write(path string, all []row, t totals) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no markers %q and %q", path, begin, end)
	}
	var b strings.Builder
	b.WriteString(before + begin + "\n" + t.text() + ".\n\n")
	b.WriteString("| service | planted | place | estimated gain | twin's gain | twin blamed |\n|---|---|---|---|---|---|\n")
	for i := range all {
		r := &all[i]
		if r.failed != "" {
			fmt.Fprintf(&b, "| %s | %s | %s | | | |\n", r.species.Name, r.species.Cause, "not diagnosed")
			continue
		}
		var places []string
		for _, id := range append([]string{r.species.Cause}, r.species.With...) {
			place := "-"
			if p := r.place(id); p > 0 {
				place = fmt.Sprint(p)
			}
			places = append(places, place)
		}
		estimate := "-"
		if e, ok := r.estimated(); ok {
			estimate = fmt.Sprintf("%.0f %%", 100*e)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.0f %% | %s |\n", r.species.Name, strings.Join(append([]string{r.species.Cause}, r.species.With...), ", "),
			strings.Join(places, ", "), estimate, 100*r.measured(), cmp.Or(r.blamed(), "no"))
	}
	b.WriteString("\n" + end + after)
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
