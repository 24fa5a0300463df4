package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Again returns a channel that is closed by the first SIGINT, SIGTERM or SIGHUP after the end of
// ctx, which such a signal has ended. The caller must call stop.
func Again(ctx context.Context) (again <-chan struct{}, stop func()) {
	signals, second, over := make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-ctx.Done():
		case <-over:
			return
		}
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer signal.Stop(signals)
		select {
		case <-signals:
			close(second)
		case <-over:
		}
	})
	return second, func() {
		close(over)
		waiting.Wait()
	}
}
