//go:build unix

package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// The second signal is the one after the end of the context.
func TestAgain(t *testing.T) {
	// A signal that arrives late, after the others have been told to stop, must not end the process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	ctx, release := signal.NotifyContext(t.Context(), syscall.SIGHUP) // as in main
	defer release()
	again, stop := Again(ctx)
	defer stop()
	select {
	case <-again:
		t.Fatal("there was no signal")
	default:
	}
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	for range 1000 {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		select {
		case <-again:
			return
		case <-time.After(10 * time.Millisecond): // it was not waiting yet
		}
	}
	t.Error("the second signal is not seen")
}

func TestAgainStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, stop := Again(ctx)
	stop()
	_, stop = Again(ctx)
	cancel()
	stop()
}
