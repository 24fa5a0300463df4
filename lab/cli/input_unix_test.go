//go:build unix

package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// An interrupt ends the wait for the writer of a pipe, and that for what it writes.
func TestOpenPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("no writer: %v", err)
	}
	// The writer of the pipe that nobody waits for any more, and of the next one.
	w, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	in, err := Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("text"); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4)
	if _, err := io.ReadFull(in, b); err != nil || string(b) != "text" {
		t.Errorf("%q, %v", b, err)
	}
	done := make(chan error)
	go func() {
		_, err := in.Read(b)
		done <- err
	}()
	cancel()
	if err := errors.Join(<-done, in.Close()); !errors.Is(err, context.Canceled) {
		t.Errorf("a silent writer: %v", err)
	}
	if _, err := Open(t.Context(), path+"x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
