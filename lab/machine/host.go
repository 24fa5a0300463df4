package machine

import (
	"context"
	"os"
	"time"

	"github.com/redline-go/redline/lab/internal/procfs"
)

// sampleTime is how long load is sampled.
const sampleTime = 500 * time.Millisecond

// Host is a machine as described by its /proc and /sys. The zero value is the machine that
// this process runs on.
type Host struct {
	Root          string        // directory that contains proc and sys; empty is /
	ServerCPUs    []int         // CPUs of the subjects; empty: unknown
	GeneratorCPUs []int         // CPUs of the generator; empty: unknown
	Sample        time.Duration // how long load is sampled; 0 is half a second

	wait func(context.Context, time.Duration) error // nil: sleeps
	self int                                        // own process; 0: the calling process
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

// pause waits for the sample time.
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

// text returns the content of a file that some machines do not have; empty if it cannot be
// read.
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
