package redline

import (
	"fmt"
	"log/slog"

	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/epoll"
	"github.com/redline-go/redline/internal/transport/std"
	"github.com/redline-go/redline/internal/transport/uring"
)

// checkCPUs returns an error that names the CPUs that the process may not use.
func checkCPUs(cpus []int) error { return epoll.CheckCPUs(cpus) }

// newTransport creates the requested transport, and returns its name.
func newTransport(name Transport, cfg transport.Config, log *slog.Logger) (transport.Transport, Transport, error) {
	switch name {
	case TransportEpoll:
		t, err := epoll.New(cfg)
		return t, TransportEpoll, err
	case TransportUring:
		t, err := uring.New(cfg)
		return t, TransportUring, err
	case TransportStd:
		t, err := std.New(cfg)
		return t, TransportStd, err
	case "", TransportAuto:
		because := uring.Probe()
		if because == nil {
			t, err := uring.New(cfg)
			if err == nil {
				log.Info("redline: transport", "transport", TransportUring, "loops", cfg.Loops)
				return t, TransportUring, nil
			}
			because = err
		}
		t, err := epoll.New(cfg)
		if err == nil {
			log.Info("redline: transport", "transport", TransportEpoll, "loops", cfg.Loops, "because", because)
			return t, TransportEpoll, nil
		}
		log.Info("redline: transport", "transport", TransportStd, "because", err)
		u, err := std.New(cfg)
		return u, TransportStd, err
	}
	return nil, "", fmt.Errorf("redline: unknown transport %q: use auto, uring, epoll or std", name)
}
