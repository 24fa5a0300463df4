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
	loadcommand "github.com/redline-go/redline/lab/load/command"
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
	if t.Load == "" {
		got = profile.Take(ctx, &c.source, t.kinds, t.For)
	} else {
		order := loadcommand.Order{URL: t.Load, Source: &c.source, Kinds: t.kinds, Time: t.For, Warmup: warmup, Err: c.console.Err, Screen: c.console.ErrScreen}
		if c.pid != 0 {
			order.PIDs = []int{c.pid}
		}
		doc, got, err = t.Beside.Run(ctx, order)
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

// mark writes into a profile what is known of its window.
func (c *capture) mark(p *pprof.Profile, one profile.Taken, doc *present.Document) error {
	w, err := profile.WindowOf(p)
	if err != nil {
		return err
	}
	w.Module, w.Command = c.module, strings.Join(redact.Args(os.Args[1:]), " ")
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
