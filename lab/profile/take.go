package profile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/redline-go/redline/lab/internal/file"
)

// Taken is a profile, or the reason why there is none.
type Taken struct {
	Kind    Kind
	Data    []byte // in the format of pprof, compressed
	Seconds float64
	Top     []Function // CPU profile only
	Err     error
}

// topFunctions is the number of functions listed for a CPU profile.
const topFunctions = 5

// Take takes profiles of the kinds, in their order: first the lasting ones at the same
// time, over d, a whole number of seconds; then the others one after the other, because
// taking them would show up in the lasting ones. It returns when all are complete or have
// failed; the end of ctx makes them fail.
func Take(ctx context.Context, source Source, list []Kind, d time.Duration) []Taken {
	out := make([]Taken, len(list))
	var all sync.WaitGroup
	for i, k := range list {
		if out[i] = (Taken{Kind: k}); k.Lasting() {
			out[i].Seconds = d.Seconds()
			all.Go(func() { out[i].take(ctx, source, d) })
		}
	}
	all.Wait()
	for i, k := range list {
		if !k.Lasting() {
			out[i].take(ctx, source, 0)
		}
	}
	return out
}

func (t *Taken) take(ctx context.Context, source Source, d time.Duration) {
	data, err := source.Take(ctx, t.Kind, d)
	if err != nil {
		t.Err = err
		return
	}
	p, err := Decode(data)
	switch {
	case err != nil:
		t.Err = err
		return
	case len(p.Sample) == 0:
		t.Err = empty(t.Kind)
		return
	}
	if t.Data = data; t.Kind == CPU {
		t.Top = top(p, topFunctions)
	}
}

// empty returns an error that says why a profile is empty.
func empty(k Kind) error {
	switch k {
	case "mutex":
		return errors.New("it is empty: nothing waited for a mutex, or the service does not call runtime.SetMutexProfileFraction(10)")
	case "block":
		return errors.New("it is empty: nothing blocked, or the service does not call runtime.SetBlockProfileRate(10000)")
	case CPU:
		return errors.New("it is empty: the server used no CPU")
	}
	return errors.New("it is empty")
}

// Save writes the profile to KIND.pprof in a directory, which it creates if necessary. The
// file is complete or does not exist. Save returns the file's path.
func (t *Taken) Save(dir string) (path string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("save profile %s: %w", t.Kind, err)
	}
	path = filepath.Join(dir, string(t.Kind)+".pprof")
	if err := file.Write(path, t.Data); err != nil {
		return "", fmt.Errorf("save profile %s: %w", t.Kind, err)
	}
	return path, nil
}
