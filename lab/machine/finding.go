package machine

import (
	"context"
	"fmt"

	"github.com/redline-go/redline/lab/internal/procfs"
)

// Finding is something on the machine that a measurement should know of.
type Finding struct {
	Name     string   `json:"name"`
	Value    string   `json:"value"`             // as it is now
	Disturbs bool     `json:"disturbs"`          // false: worth knowing, or harmful to some measurements only
	Why      string   `json:"why"`               // it matters
	Advice   string   `json:"advice"`            // what to do about it
	Changes  []Change `json:"changes,omitempty"` // what Apply would do about it
}

// Disturbances looks at the machine for as long as the sample takes and returns
// what it found, settings first. The error is the context's, or that there is no
// /proc to look at; what a machine does not have is no error.
func (h *Host) Disturbances(ctx context.Context) ([]Finding, error) {
	fs := h.fs()
	before, err := h.reading()
	if err != nil {
		return nil, fmt.Errorf("look at the machine: %w", err)
	}
	if err := h.pause(ctx); err != nil {
		return nil, err
	}
	after, err := h.reading()
	if err != nil {
		return nil, fmt.Errorf("look at the machine: %w", err)
	}
	var found []Finding
	for _, look := range []func(procfs.FS) []Finding{
		governor, turbo, h.siblings, h.quota, congestion, ports, backlogs, timeWait, h.files,
		hugePages, numaBalancing, swap, power, vulnerabilities, guest,
	} {
		found = append(found, look(fs)...)
	}
	return append(found, h.load(before, after)...), nil
}

// Changes collects what the findings would change.
func Changes(found []Finding) []Change {
	var all []Change
	for _, f := range found {
		all = append(all, f.Changes...)
	}
	return all
}
