//go:build !linux

package handlers

import (
	"errors"

	"github.com/redline-go/redline/lab/trace"
)

// A Watch observes a process: on Linux only.
type Watch struct{}

// Start returns an error: functions of other processes are observed on Linux only.
func Start(int) (*Watch, error) {
	return nil, errors.New("the handlers of a process are seen from outside on Linux only")
}

// Stop returns nothing.
func (*Watch) Stop() (*trace.Handlers, uint64, error) { return nil, 0, nil }
