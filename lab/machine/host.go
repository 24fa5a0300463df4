package machine

import (
	"context"
	"os"
	"time"

	"github.com/redline-go/redline/lab/internal/procfs"
)

// sampleTime is how long load is watched.
const sampleTime = 500 * time.Millisecond

// Host is a machine, as its /proc and /sys describe it. The zero value is the
// one that this runs on.
type Host struct {
	Root          string        // directory that holds proc and sys; empty is /
	ServerCPUs    []int         // where the subjects are to run; empty: not known
	GeneratorCPUs []int         // where the generator is to run; empty: not known
	Sample        time.Duration // how long load is watched; 0 is half a second

	wait func(context.Context, time.Duration) error // nil: sleeps
	self int                                        // own process; 0: this one's
}

func (h *Host) fs() procfs.FS {
	if h.Root == "" {
		return procfs.Host
	}
	return procfs.FS(h.Root)
}

func (h *Host) pid() int {
	if h.self == 0 {
		return os.Getpid()
	}
	return h.self
}

// pause lets the sample time pass.
func (h *Host) pause(ctx context.Context) error {
	d := h.Sample
	if d == 0 {
		d = sampleTime
	}
	if h.wait != nil {
		return h.wait(ctx, d)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// text returns the content of a file that some machines do not have: empty when
// it cannot be read.
func text(fs procfs.FS, parts ...string) string {
	t, err := fs.Text(parts...)
	if err != nil {
		return ""
	}
	return t
}

// number returns the number in a file that some machines do not have.
func number(fs procfs.FS, parts ...string) (int, bool) {
	n, err := fs.Int(parts...)
	return n, err == nil
}
