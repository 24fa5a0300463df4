package main

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/load/ring"
)

// A run with io_uring is one, and its workers have it too. Where the kernel does not
// let them, they say what to write instead.
func TestLoadRing(t *testing.T) {
	r, forbidden := ring.New(1)
	switch {
	case forbidden == nil:
		r.Close()
	case !errors.Is(forbidden, unix.EPERM) && !errors.Is(forbidden, unix.ENOSYS) && !errors.Is(forbidden, unix.EINVAL):
		t.Fatal(forbidden)
	}
	for name, args := range map[string][]string{
		"closed":    nil,
		"open":      {"-r", "300"},
		"pipelined": {"--pipeline", "4"},
		"workers":   {"--workers", "2"},
	} {
		t.Run(name, func(t *testing.T) {
			url, count := serve(t, hello)
			code, out, said := loadOf(t, t.Context(), short(append(args, "--io", "uring", "-c", "4", "--allow-invalid", "--json", "-", url)...)...)
			if forbidden != nil {
				if code != 1 || !strings.Contains(said, "(errno ") || !strings.Contains(said, "write --io epoll") {
					t.Errorf("exit code %d, %s", code, said)
				}
				return
			}
			if code != 0 {
				t.Fatalf("exit code %d, %s", code, said)
			}
			d := documentOf(t, out)
			if d.Config.IO != "uring" || d.Requests == 0 || len(d.Errors) > 0 || uint64(count.Load()) < d.Requests {
				t.Errorf("io %q, %d right answers of %d, errors %v", d.Config.IO, d.Requests, count.Load(), d.Errors)
			}
			for _, w := range d.Workers {
				if w.Requests == 0 {
					t.Errorf("worker %+v", w)
				}
			}
		})
	}
}

func TestLoadRingRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--io", "kqueue", "http://127.0.0.1:1/"}, "--io kqueue: write epoll or uring"},
		{[]string{"--io", "uring", "https://127.0.0.1:1/"}, "write --io epoll, or leave out TLS"},
		{[]string{"--io", "uring", "--http2", "http://127.0.0.1:1/"}, "write --io epoll, or leave out TLS, --http2"},
		{[]string{"--io", "uring", "--slow-read", "1KiB", "http://127.0.0.1:1/"}, "clients that are not slow: write --io epoll"},
		{[]string{"--io", "uring", "--sse", "http://127.0.0.1:1/"}, "--io is about requests, and --sse about subscribers"},
	} {
		if code, _, said := loadOf(t, t.Context(), short(c.args...)...); code != 2 || !strings.Contains(said, c.want) {
			t.Errorf("%v: exit code %d, %q; want %q", c.args, code, said, c.want)
		}
	}
}
