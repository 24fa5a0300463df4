//go:build !linux

package gomem

import (
	"errors"
	"fmt"
)

// memory exists on Linux only.
type memory struct{ probe uint64 }

func openMemory(pid int) (*memory, error) {
	return nil, fmt.Errorf("read the memory of process %d, only Linux has /proc: %w", pid, errors.ErrUnsupported)
}

func access(_ int, err error) error { return err }

func (m *memory) close() error             { return nil }
func (m *memory) read(*batch) error        { return errors.ErrUnsupported }
func (m *memory) alive() error             { return errors.ErrUnsupported }
func (m *memory) one([]byte, uint64) error { return errors.ErrUnsupported }
func monotonic() int64                     { return 0 }
