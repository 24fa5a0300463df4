//go:build !linux

package redline

import (
	"fmt"
	"log/slog"
	"runtime"

	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/std"
)

// checkCPUs returns an error that names the CPUs that cannot exist.
func checkCPUs(cpus []int) error {
	for _, cpu := range cpus {
		if cpu < 0 || cpu >= runtime.NumCPU() {
			return fmt.Errorf("CPU %d does not exist: this system has 0 to %d", cpu, runtime.NumCPU()-1)
		}
	}
	return nil
}

// newTransport creates the only transport of this system.
func newTransport(name Transport, cfg transport.Config, _ *slog.Logger) (transport.Transport, Transport, error) {
	switch name {
	case "", TransportAuto, TransportStd:
		t, err := std.New(cfg)
		return t, TransportStd, err
	}
	return nil, "", fmt.Errorf("redline: transport %q is not available on this system: use auto or std", name)
}
