package main

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/spawn"
)

// TestLoadWaitsFor waits for a server that listens late, and for no longer than it may.
func TestLoadWaitsFor(t *testing.T) {
	free, err := spawn.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	addr := free.String()
	if code, _, said := loadOf(t, t.Context(), "-c", "1", "-n", "5", "--wait-for", "300ms", "http://"+addr+"/"); code != 1 {
		t.Errorf("nothing listens: exit code %d, %s", code, said)
	}
	s := &http.Server{Addr: addr, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { hello(w, r, 0) })}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	time.AfterFunc(500*time.Millisecond, func() {
		err := s.ListenAndServe()
		cancel() // if another process has taken the port
		ended <- err
	})
	defer func() {
		err := s.Close()
		if served := <-ended; err != nil || !errors.Is(served, http.ErrServerClosed) {
			t.Errorf("the server ended with %v; its closing: %v", served, err)
		}
	}()
	if code, _, said := loadOf(t, ctx, "-c", "1", "-n", "5", "--allow-invalid", "--wait-for", "1m", "http://"+addr+"/"); code != 0 {
		t.Errorf("exit code %d, %s", code, said)
	}
}
