package zoo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestDescriptions finds descriptions that are not complete, and species that are not sick
// enough to be found.
func TestDescriptions(t *testing.T) {
	for _, s := range All() {
		m := s.Measured
		if !slices.Contains([]string{"cpu", "latency", "rate", "growth"}, m.Figure) || m.Ratio < 1.3 {
			t.Errorf("%s: measured is %+v: measure it with redline load, and record a figure that is 1.3 times better in the twin", s.Name, m)
		}
	}
}

func TestWrongDescriptions(t *testing.T) {
	right := func() Species {
		return Species{Cause: "gc-pressure", Does: "x", Fault: "x", Twin: "x", Requests: []Request{{Path: "/"}}, Connections: 1}
	}
	for _, test := range []struct {
		name  string
		spoil func(*Species)
		want  string // in the error; empty: none
	}{
		{"right", func(*Species) {}, ""},
		{"no cause", func(s *Species) { s.Cause = "" }, "are required"},
		{"unknown cause", func(s *Species) { s.Cause = "gremlins" }, `"gremlins" is not the id`},
		{"unknown consequence", func(s *Species) { s.Also = []string{"gremlins"} }, `"gremlins" is not the id`},
		{"unknown second cause", func(s *Species) { s.With = []string{"gremlins"} }, `"gremlins" is not the id`},
		{"no requests", func(s *Species) { s.Requests = nil }, "are required"},
		{"no connections", func(s *Species) { s.Connections = 0 }, "are required"},
		{"relative path", func(s *Species) { s.Requests[0].Path = "feed" }, "does not begin with /"},
		{"profiler", func(s *Species) { s.PProf = "yes" }, "write same or admin"},
		{"needs", func(s *Species) { s.Needs.Quota = -1 }, "negative"},
		{"needs of the twin", func(s *Species) { s.Needs.TwinMemory = -1 }, "negative"},
		{"rate", func(s *Species) { s.Rate = -1 }, "negative"},
		{"requests of a connection", func(s *Species) { s.PerConnection = -1 }, "negative"},
		{"limits of a command", func(s *Species) { s.Command, s.Needs.Quota = []string{"node"}, 1 }, "without limits"},
	} {
		s := right()
		test.spoil(&s)
		if err := s.check(); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

func TestScenario(t *testing.T) {
	s := Species{Name: "x", Requests: []Request{{Path: "/a"}, {Path: "/b", BodySize: 40, Status: 201, Weight: 3}}}
	for i := range s.Requests {
		s.Requests[i].complete()
	}
	text, err := s.Scenario("127.0.0.1:80")
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Base    string
		Targets []struct {
			Method, URL, Body string
			Weight            int
		}
	}
	if err := yaml.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if want := "{http://127.0.0.1:80 [{GET /a  1} {POST /b abcdefghijklmnopqrstuvwxyz012345abcdefgh 3}]}"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestGroup starts a process in a cgroup, which is in it from its first instruction on.
func TestGroup(t *testing.T) {
	g, err := newGroup(0.5, 64<<20)
	if errors.Is(err, ErrNeeds) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	dirs := slices.Clone(g.dirs)
	defer func() {
		if err := g.remove(); err != nil {
			t.Error(err)
		}
		for _, dir := range dirs {
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: %v, want it removed", dir, err)
			}
		}
	}()
	dir, err := build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := begin(t.Context(), []string{filepath.Join(dir, "backends", "inventory")}, map[string]string{"PORT": "0"}, g, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range g.procs() {
		members, err := os.ReadFile(name)
		if got, want := string(members), fmt.Sprintln(p.cmd.Process.Pid); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	if err := p.end(); err != nil {
		t.Error(err)
	}
}

// TestStartFails: the error has what the process said.
func TestStartFails(t *testing.T) {
	dir, err := build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ binary, want string }{
		{filepath.Join(dir, "sick", "n-plus-one"), "set BACKEND"},
		{filepath.Join(dir, "sick", "absent"), "no such file"},
		{"/bin/true", "did not print the address"},
	} {
		p, err := begin(t.Context(), []string{test.binary}, nil, nil, 0, "")
		if err == nil {
			_ = p.end()
			t.Errorf("%s: no error", test.binary)
		} else if !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.binary, err, test.want)
		}
	}
}

// TestGone: a server that ended by itself is an error of Stop, and what is left of it is removed.
func TestGone(t *testing.T) {
	all := All()
	s := all[slices.IndexFunc(all, func(s Species) bool { return s.Backend != nil })]
	server, err := s.Start(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	dir := server.dir
	if err := syscall.Kill(server.PID, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	<-server.server.ended
	if err := server.Stop(); err == nil || !strings.Contains(err.Error(), "ended before it was stopped") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v, want it removed", dir, err)
	}
}
