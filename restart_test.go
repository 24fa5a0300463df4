//go:build unix

package redline_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/restart"
)

// childEnv says what the test binary is to do instead of testing, when package
// restart has started it: nothing, or an address of a Unix socket and what to do with
// it.
const childEnv = "REDLINE_TEST_CHILD"

func TestMain(m *testing.M) {
	switch what, path, _ := strings.Cut(os.Getenv(childEnv), " "); what {
	case "":
		os.Exit(m.Run())
	case "serves":
		os.Exit(replace(path, redline.TransportAuto))
	case "cannot":
		os.Exit(replace(path, "none"))
	}
	os.Exit(2)
}

// replace is a process that serves on a socket in place of another one, unless it
// knows before it is ready that it cannot.
func replace(path string, transport redline.Transport) (code int) {
	l, err := restart.Listen("unix", path)
	if err != nil {
		return 3
	}
	s := &redline.Server{Transport: transport, Native: func(c *redline.Ctx) { c.Text(200, fmt.Sprint(os.Getpid())) }}
	if err := s.Adopt(l); err != nil {
		return 4
	}
	if err := restart.Ready(); err != nil {
		return 5
	}
	if err := s.Run(); err != nil { // it is killed
		return 6
	}
	return 0
}

// TestRestart passes on the Unix socket that a server serves. A new process that
// cannot serve leaves the old one as it was. The socket's file stays when that ends,
// and leads to the one that can.
func TestRestart(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		path := filepath.Join(t.TempDir(), "socket")
		l, err := restart.Listen("unix", path)
		noError(t, err)
		r := prepare(t, &redline.Server{Transport: transport, Native: text("old")})
		r.addr = l.Addr()
		r.run(func() error { return r.serveOn(l) })
		r.dial().want("/", "old")
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()

		t.Setenv(childEnv, "cannot "+path)
		if _, err := restart.Process(ctx, l); err == nil || !strings.Contains(err.Error(), "exit status 4") {
			t.Errorf("a process that cannot serve: %v", err)
		}
		for range 3 {
			r.dial().want("/", "old")
		}

		t.Setenv(childEnv, "serves "+path)
		child, err := restart.Process(ctx, l)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			noError(t, child.Kill())
			_, err := child.Wait()
			noError(t, err)
		}()
		if err := r.shutdown(patience); err != nil {
			t.Error(err)
		}
		r.dial().want("/", fmt.Sprint(child.Pid))
	}, overTLS)
}

// TestAcceptAfterRestart serves who connects while a new process does not become
// ready: what they share of the socket is as it was.
func TestAcceptAfterRestart(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		l := loopback(t)
		r := prepare(t, &redline.Server{Transport: transport, Native: text("old")})
		r.addr = l.Addr()
		r.run(func() error { return r.serveOn(l) })
		idle := r.dial()
		idle.want("/", "old")
		t.Setenv(childEnv, "ends")
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if _, err := restart.Process(ctx, l); err == nil {
			t.Error("a process that ends has become ready")
		}
		for range 3 { // the last of whom nobody follows
			r.dial().want("/", "old")
			idle.want("/", "old")
		}
	})
}
