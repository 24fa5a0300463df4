//go:build !linux

package redline

import (
	"fmt"
	"log/slog"

	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/std"
)

// newTransport creates the only transport of this system.
func newTransport(name string, cfg transport.Config, _ *slog.Logger) (transport.Transport, string, error) {
	switch name {
	case "", Auto, Std:
		t, err := std.New(cfg)
		return t, Std, err
	}
	return nil, "", fmt.Errorf("redline: transport %q is not to be had on this system: use auto or std", name)
}
