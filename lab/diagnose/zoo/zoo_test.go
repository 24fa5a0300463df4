package zoo

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	built.bare = true // it links more than a hundred programs
	stopLimit = time.Minute
	code := m.Run()
	if err := Clean(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// TestSpecies starts both variants of every species, sends each request of its load, stops
// them, and looks for what they left.
func TestSpecies(t *testing.T) {
	if err := Build(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, s := range All() {
		for _, twin := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/twin=%v", s.Name, twin), func(t *testing.T) { serves(t, s, twin) })
		}
	}
}

func serves(t *testing.T, s Species, twin bool) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	server, err := s.Start(ctx, twin)
	if errors.Is(err, ErrNeeds) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	pid, dir, group := server.PID, server.dir, server.group
	stopped := false
	defer func() {
		if !stopped {
			_ = server.Stop()
		}
	}()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, DisableCompression: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // its certificate is of its own making
	}}
	base := s.Base(server.Addr)
	ask(t, client, base, Request{Method: "GET", Path: "/healthz", Status: 200})
	for _, r := range s.Requests {
		for range 2 {
			ask(t, client, base, r)
		}
	}
	if server.PProf != "" {
		ask(t, client, strings.TrimSuffix(server.PProf, "/"), Request{Method: "GET", Path: "/goroutine?debug=1", Status: 200})
	}
	stopped = true
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d: %v, want none", pid, err)
	}
	if err := syscall.Kill(-pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process group %d: %v, want none", pid, err)
	}
	left := []string{dir}
	if group != nil {
		left = append(left, group.procs()...)
	}
	for _, name := range left {
		if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v, want it removed", name, err)
		}
	}
}

func ask(t *testing.T, client *http.Client, base string, r Request) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.Method, base+r.Path, strings.NewReader(r.Body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range r.Headers {
		req.Header.Set(name, value)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != r.Status {
		t.Errorf("%s %s: %s, want %d: %.200s", r.Method, r.Path, resp.Status, r.Status, body)
	}
}
