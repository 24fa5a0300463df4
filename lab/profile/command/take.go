package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/redline-go/redline/lab/internal/redact"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/profile"
)

// taken is a profile with its kind.
type taken struct {
	name    string // for titles and files: the kind, or the name of the file
	kind    profile.Kind
	profile *pprof.Profile
}

// window takes the profiles of one window, beside the load if there is one. warmup replaces the
// default of the load; 0: the default. The load's document is nil without one.
func (c *capture) window(ctx context.Context, warmup time.Duration) (list []taken, doc *present.Document, err error) {
	t := c.target
	var got []profile.Taken
	if c.runs == nil {
		got = profile.Take(ctx, &c.source, t.kinds, t.For)
	} else if got, doc, err = c.loaded(ctx, warmup); doc != nil && doc.Partial != "" && err == nil {
		err = errors.New("the load was " + doc.Partial)
	}
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if err != nil {
		return nil, nil, err
	}
	var failed []error
	for _, one := range got {
		if one.Err != nil {
			failed = append(failed, fmt.Errorf("%s profile: %w", one.Kind, one.Err))
			continue
		}
		p, err := profile.Decode(one.Data)
		if err == nil {
			err = c.mark(p, one, doc)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s profile: %w", one.Kind, err))
			continue
		}
		list = append(list, taken{name: string(one.Kind), kind: one.Kind, profile: p})
	}
	return list, doc, c.early(errors.Join(failed...))
}

const (
	spare   = 500 * time.Millisecond // of the load's window, for snapshots after the profiles
	longest = 20 * time.Second       // wait for profiles after the load
)

// loaded takes the profiles in the window of a load, beginning with it.
func (c *capture) loaded(ctx context.Context, warmup time.Duration) (got []profile.Taken, doc *present.Document, err error) {
	taking, stop := context.WithCancel(ctx)
	defer stop()
	profiles := make(chan []profile.Taken, 1)
	begun := false
	doc, err = c.runs.Planned(ctx, warmup, c.target.For+spare, func() {
		begun = true
		go func() { profiles <- profile.Take(taking, &c.source, c.target.kinds, c.target.For) }()
	})
	if !begun {
		return nil, doc, err
	}
	if err != nil {
		stop()
	}
	late := time.AfterFunc(longest, stop)
	defer late.Stop()
	return <-profiles, doc, err
}

// mark writes into a profile what is known of its window.
func (c *capture) mark(p *pprof.Profile, one profile.Taken, doc *present.Document) error {
	w, err := profile.WindowOf(p)
	if err != nil {
		return err
	}
	w.Module, w.Process, w.Command = c.module, c.name, strings.Join(redact.Args(os.Args[1:]), " ")
	if one.Seconds == 0 {
		w.Seconds, p.DurationNanos = 0, 0
	} else if w.Seconds == 0 {
		w.Seconds = one.Seconds
	}
	if doc != nil {
		if w.Seconds > 0 {
			w.Requests = answered(doc, w.Seconds)
		}
		if !doc.Valid {
			w.Notes = append(w.Notes, "the load is INVALID: "+reasons(doc))
		}
		if n := doc.Failing; n > 0 {
			w.Notes = append(w.Notes, fmt.Sprintf("requests of the load failed: %d; only right answers count", n))
		}
	}
	w.Mark(p)
	return nil
}

// answered returns the right answers in the first seconds of the load's window: those of its
// points, and of the last one in proportion.
func answered(doc *present.Document, seconds float64) float64 {
	sum, at := 0.0, 0.0
	for _, p := range doc.Series {
		if p.T <= 0 {
			continue
		}
		if n := float64(p.Counted.Requests); p.T <= seconds {
			sum, at = sum+n, p.T
		} else {
			return sum + n*max(0, seconds-at)/(p.T-at)
		}
	}
	return sum + doc.RequestsPerSecond*max(0, seconds-at)
}

// reasons lists the gates that failed.
func reasons(doc *present.Document) string {
	var list []string
	for _, g := range doc.Gates {
		if !g.Passed {
			list = append(list, g.Text)
		}
	}
	if len(list) == 0 {
		return "see redline load"
	}
	return strings.Join(slices.Compact(list), "; ")
}
