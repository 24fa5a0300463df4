package redline_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/redline-go/redline"
)

// wantGone wants that a file is not there.
func wantGone(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left behind: %v", path, err)
	}
}

// TestUnixSocketFile starts servers one after the other on the same Unix socket,
// however the one before has ended.
func TestUnixSocketFile(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		path := filepath.Join(t.TempDir(), "socket")
		ends := map[string]func(r *running) error{
			"Shutdown": func(r *running) error { return r.shutdown(patience) },
			"Close":    func(r *running) error { return r.Close() },
		}
		for range 2 {
			for name, end := range ends {
				r := prepare(t, &redline.Server{Transport: transport, Loops: 2, Native: func(c *redline.Ctx) {
					c.Text(200, c.RemoteAddr().String()+" "+c.LocalAddr().String())
				}})
				var err error
				if r.addr, err = r.Listen("unix:" + path); err != nil {
					t.Fatalf("before %s: %v", name, err)
				}
				r.run(r.Run)
				r.dial().want("/", "@ "+path)
				if err := end(r); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				wantGone(t, path)
			}
		}
		s := &redline.Server{Transport: transport, Native: text("x")}
		if _, err := s.Listen("unix:" + path); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		wantGone(t, path)
	}, overTLS)
}

// TestGivenUnixSocketFile checks that the creator of a given listener decides about its
// file: it is removed if closing the listener removes it, as under net/http.
func TestGivenUnixSocketFile(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		for _, unlink := range []bool{true, false} {
			path := filepath.Join(t.TempDir(), "socket")
			l, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			l.(*net.UnixListener).SetUnlinkOnClose(unlink)
			r := prepare(t, &redline.Server{Transport: transport, Native: text("x")})
			r.addr = l.Addr()
			r.run(func() error { return r.Serve(l) })
			r.dial().want("/", "x")
			if err := r.shutdown(patience); err != nil {
				t.Error(err)
			}
			if unlink {
				wantGone(t, path)
			} else if _, err := os.Stat(path); err != nil {
				t.Errorf("the file is gone: %v", err)
			}
		}
	}, overTLS)
}
