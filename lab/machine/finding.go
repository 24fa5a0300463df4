package machine

import (
	"context"
	"fmt"

	"github.com/redline-go/redline/lab/internal/procfs"
)

// Finding is something about the machine that affects measurements.
type Finding struct {
	Name     string   `json:"name"`
	Value    string   `json:"value"`             // current value
	Disturbs bool     `json:"disturbs"`          // false: worth knowing, or a problem only for some measurements
	Why      string   `json:"why"`               // why it matters
	Advice   string   `json:"advice"`            // what to do about it
	Changes  []Change `json:"changes,omitempty"` // what Apply does about it
}

// Disturbances examines the machine for as long as the sample takes and returns its
// findings, settings first. The error is that of the context, or that there is no /proc; a
// feature that the machine does not have is not an error.
func (h *Host) Disturbances(ctx context.Context) ([]Finding, error) {
	fs := h.fs()
	before, err := h.reading()
	if err != nil {
		return nil, fmt.Errorf("examine the machine: %w", err)
	}
	if err := h.pause(ctx); err != nil {
		return nil, err
	}
	after, err := h.reading()
	if err != nil {
		return nil, fmt.Errorf("examine the machine: %w", err)
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

// Changes collects the changes of the findings.
func Changes(found []Finding) []Change {
	var all []Change
	for _, f := range found {
		all = append(all, f.Changes...)
	}
	return all
}
