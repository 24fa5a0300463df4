package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/redline-go/redline/lab/profile"
)

// Ask is what a profile from outside is asked for.
type Ask struct {
	PID    int
	Tree   bool // its children too
	Kind   profile.Kind
	For    time.Duration
	Hz     int
	Kernel bool
}

// Outside takes a profile of a process without its help. notes say what the reader of the profile
// should know.
type Outside func(ctx context.Context, a Ask) (p *pprof.Profile, notes []string, err error)

// best takes each kind from the best place: the process itself if it offers profiles, or else
// from outside.
type best struct {
	inside  profile.Source // nil: it offers none
	outside map[profile.Kind]Outside
	ask     Ask
}

// errNoSource is the error for a kind that cannot be taken.
var errNoSource = errors.New("there is no source for it: name net/http/pprof with --pprof, or a control socket with --control")

// Take implements [profile.Source].
func (s *best) Take(ctx context.Context, k profile.Kind, d time.Duration) ([]byte, error) {
	if s.inside != nil && !k.Outside() {
		return s.inside.Take(ctx, k, d)
	}
	take := s.outside[k]
	if take == nil {
		return nil, s.missing(k)
	}
	ask := s.ask
	ask.Kind, ask.For = k, d
	p, notes, err := take(ctx, ask)
	if err != nil {
		return nil, err
	}
	if len(p.Sample) == 0 && len(notes) > 0 { // a process that ended, for instance
		if !s.ask.Tree {
			notes = append(notes, "With --tree, its children are profiled too.")
		}
		return nil, fmt.Errorf("it is empty. %s", strings.Join(notes, " "))
	}
	if p.DurationNanos == 0 {
		p.DurationNanos = d.Nanoseconds()
	}
	w, err := profile.WindowOf(p)
	if err != nil {
		return nil, err
	}
	w.Seconds, w.Notes = float64(p.DurationNanos)/1e9, notes
	w.Mark(p)
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		return nil, fmt.Errorf("encode a profile: %w", err)
	}
	return out.Bytes(), nil
}

// missing returns why a kind cannot be taken, or nil.
func (s *best) missing(k profile.Kind) error {
	switch {
	case s.outside[k] != nil, s.inside != nil && !k.Outside():
		return nil
	case k.Outside():
		return fmt.Errorf("--kind %s: profiles of this kind cannot be taken on this system", k)
	}
	return fmt.Errorf("--kind %s: %w", k, errNoSource)
}
