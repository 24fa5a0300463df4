package profile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/redline-go/redline/lab/report"
)

// Window is what is known of the time that a profile covers.
type Window struct {
	Seconds  float64   // 0: unknown, or a snapshot
	Requests float64   // right answers of the load in that time; 0: unknown
	Module   string    // path of the Go module of the program's main package; empty: unknown
	Command  string    // how the profile was taken, without credentials; empty: unknown
	Slice    float64   // seconds of each part of the window that samples name by [SliceLabel]; 0: they name none
	Process  string    // name and id of the process; empty: unknown
	Taken    time.Time // begin; zero: unknown
	Notes    []string
}

// SliceLabel is the numeric label of a sample with the part of the window in which it was taken, from 0.
const SliceLabel = "slice"

// commentPrefix begins the comments of a profile that hold a Window.
const commentPrefix = "redline "

// maxText limits a text of a Window that was read from a file, in bytes.
const maxText = 1000

// Rate returns requests a second, or 0 if they are unknown.
func (w Window) Rate() float64 {
	if w.Seconds <= 0 {
		return 0
	}
	return w.Requests / w.Seconds
}

// Mark writes w into the comments of a profile, so that a file of it has them. It replaces an
// earlier one. The date is the profile's own.
func (w Window) Mark(p *profile.Profile) {
	p.Comments = slices.DeleteFunc(p.Comments, func(c string) bool { return strings.HasPrefix(c, commentPrefix) })
	add := func(key, value string) {
		if value != "" {
			p.Comments = append(p.Comments, commentPrefix+key+"="+strings.ReplaceAll(value, "\n", " "))
		}
	}
	number := func(key string, v float64) {
		if v > 0 {
			add(key, strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	number("seconds", w.Seconds)
	number("requests", w.Requests)
	number("slice", w.Slice)
	add("module", w.Module)
	add("command", w.Command)
	add("process", w.Process)
	for _, note := range w.Notes {
		add("note", note)
	}
}

// WindowOf reads what [Window.Mark] wrote. A profile of another tool has only its duration.
func WindowOf(p *profile.Profile) (w Window, err error) {
	w.Seconds = max(0, float64(p.DurationNanos)/1e9)
	if p.TimeNanos > 0 {
		w.Taken = time.Unix(0, p.TimeNanos).UTC()
	}
	for _, c := range p.Comments {
		text, ok := strings.CutPrefix(c, commentPrefix)
		key, value, is := strings.Cut(text, "=")
		if !ok || !is {
			continue
		}
		value = report.Line(value[:min(len(value), maxText)])
		switch key {
		case "seconds":
			w.Seconds, err = positive(value, err)
		case "requests":
			w.Requests, err = positive(value, err)
		case "slice":
			w.Slice, err = positive(value, err)
		case "module":
			w.Module = value
		case "command":
			w.Command = value
		case "process":
			w.Process = value
		case "note":
			if len(w.Notes) < 20 {
				w.Notes = append(w.Notes, value)
			}
		}
		if err != nil {
			return Window{}, fmt.Errorf("comment %q of the profile: %w", report.Line(c[:min(len(c), maxText)]), err)
		}
	}
	return w, nil
}

// positive parses a number of more than 0, unless there was an error before.
func positive(text string, before error) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if before != nil || err != nil {
		return 0, fmt.Errorf("%q is no number", text)
	}
	if !(v > 0 && v < 1e18) {
		return 0, fmt.Errorf("%q: want a number of more than 0", text)
	}
	return v, nil
}
