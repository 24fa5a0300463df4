// Package profiles takes profiles of the program that links it, for
// control.Options:
//
//	control.Listen(path, control.Options{Profiles: profiles.Kinds(), Profile: profiles.Write})
//
// Linking it makes the runtime sample one allocation every 512 KiB
// (runtime.MemProfileRate), as linking net/http/pprof does.
package profiles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"sync"
	"time"
)

// mutexFraction: one of this many contentions is recorded while a profile is taken.
const mutexFraction = 10

// recording is held while the fraction, which is global to the program, is changed.
var recording sync.Mutex

// Kinds returns the kinds that [Write] supports.
func Kinds() []string {
	return []string{"allocs", "block", "cpu", "goroutine", "heap", "mutex", "trace"}
}

// Write writes a profile in pprof format. "cpu" samples for d, which must be more than 0.
// "trace" is an execution trace of d, in the format of runtime/trace, which needs memory for all
// of it; there is an error if the program is being traced already.
// "mutex" records for d, unless the program always records. "block" waits for d, and is
// empty unless the program has called runtime.SetBlockProfileRate: that rate cannot be
// read, so it could not be restored. "mutex", "block" and "allocs" hold what was recorded
// since the program began. For "allocs", "heap" and "goroutine" d has no meaning. If ctx
// ends, the wait ends with an error. A second concurrent "cpu" or "mutex" is an error.
func Write(ctx context.Context, w io.Writer, kind string, d time.Duration) error {
	switch kind {
	case "cpu":
		if d <= 0 {
			return errors.New("a CPU profile needs a duration, as in: profile cpu 10")
		}
		if err := pprof.StartCPUProfile(w); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
		return wait(ctx, d)
	case "trace":
		if d <= 0 {
			return errors.New("a trace needs a duration, as in: profile trace 5")
		}
		if err := trace.Start(w); err != nil {
			return err
		}
		defer trace.Stop()
		return wait(ctx, d)
	case "mutex":
		if err := record(ctx, d); err != nil {
			return err
		}
	case "block":
		if err := wait(ctx, d); err != nil {
			return err
		}
	case "allocs", "heap", "goroutine":
	default:
		return fmt.Errorf("there is no profile %q", kind)
	}
	return pprof.Lookup(kind).WriteTo(w, 0)
}

// record makes the runtime record contention for d, unless it already does.
func record(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	if !recording.TryLock() {
		return errors.New("a mutex profile is being taken")
	}
	defer recording.Unlock()
	if runtime.SetMutexProfileFraction(-1) > 0 {
		return wait(ctx, d)
	}
	runtime.SetMutexProfileFraction(mutexFraction)
	defer runtime.SetMutexProfileFraction(0)
	return wait(ctx, d)
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
