package imports

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/redline-go/redline/lab/load/scenario"
)

// contents are the files that sources of tests name.
var contents = fstest.MapFS{
	"order.json": {Data: []byte("{\"item\":\r\n7}\n")},
	"a b.txt":    {Data: []byte("x & y\n")},
	"binary":     {Data: []byte{0xff, 0, 1}},
}

func read(name string) ([]byte, error) { return fs.ReadFile(contents, name) }

// wires loads a scenario as redline load does, and returns one request of each target, in the
// order of the file.
func wires(t testing.TB, s *Scenario, o Settings) []string {
	t.Helper()
	if err := s.Finish(o); err != nil {
		t.Fatal(err)
	}
	file, err := s.YAML()
	if err != nil {
		t.Fatalf("%v in\n%s", err, file)
	}
	p, err := scenario.Parse("s.yaml", file, scenario.Options{FS: contents, Base: s.Base})
	if err != nil {
		t.Fatalf("%v in\n%s", err, file)
	}
	defer p.Close()
	u := p.User(1, 0, 1)
	out := make([]string, len(s.Requests))
	found := 0
	for range 1000 * len(out) {
		target, ok := u.Next()
		if !ok {
			t.Fatal("the user waits")
		}
		wire := string(u.Append(nil, target))
		u.Answer(target, 200, []byte("HTTP/1.1 200 OK\r\n\r\n"), nil)
		at := found
		if s.Flow == "" && !s.Sequence {
			for at = 0; at < len(out) && target.Name() != name(s, at); at++ {
			}
		}
		if at == len(out) {
			t.Fatalf("target %q is not in the scenario", target.Name())
		}
		if out[at] == "" {
			out[at] = wire
			found++
		}
		if found == len(out) {
			return out
		}
	}
	t.Fatalf("%d of %d targets are never requested in\n%s", len(out)-found, len(out), file)
	return nil
}

func name(s *Scenario, at int) string {
	if r := s.Requests[at]; r.Name == "" {
		return r.Method + " " + r.URL
	}
	return s.Requests[at].Name
}

// lines joins the lines of a request.
func lines(head ...string) string { return strings.Join(head, "\r\n") }

// equal compares requests.
func equal(t testing.TB, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d requests, want %d: %q", len(got), len(want), got)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("request %d:\n got %q\nwant %q", i, got[i], want[i])
		}
	}
}

// noted reports whether a scenario has a note that contains each of the texts.
func noted(t testing.TB, s *Scenario, want ...string) {
	t.Helper()
	all := strings.Join(s.Notes, "\n")
	for _, w := range want {
		if !strings.Contains(all, w) {
			t.Errorf("no note contains %q; they are\n%s", w, all)
		}
	}
}

// refused checks an error that a user made.
func refused(t testing.TB, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	if e, ok := errors.AsType[*scenario.Error](err); ok && e.Do == "" {
		t.Errorf("%v does not say what to do", err)
	}
}

// importable checks what a reader has made of arbitrary bytes: an error, or a scenario that
// can be loaded.
func importable(t *testing.T, s *Scenario, err error) {
	t.Helper()
	if err != nil {
		return
	}
	for _, c := range []Credentials{Keep, Variable} {
		again := *s
		again.Requests = nil
		for _, r := range s.Requests {
			r.Header = append([]Field(nil), r.Header...)
			again.Requests = append(again.Requests, r)
		}
		if err := again.Finish(Settings{Credentials: c}); err != nil {
			continue
		}
		if file, err := again.YAML(); err != nil {
			t.Fatalf("%v in\n%s", err, file)
		}
	}
}
