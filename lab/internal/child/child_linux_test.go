package child

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/guard"
	"github.com/redline-go/redline/lab/internal/tail"
)

// TestMain runs the guard when the test binary is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == guard.Verb {
		os.Exit(guard.Main(os.Stdin))
	}
	os.Exit(m.Run())
}

// A command enters its groups, and has its score, before it runs; its name and arguments are its own.
func TestEnters(t *testing.T) {
	group := t.TempDir() // a directory in place of a group: the file has what was written
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		options Options
		args    []string
		said    string
		code    string
	}{
		{"score", Options{Score: new(321)}, []string{"cat", "/proc/self/oom_score_adj"}, "321\n", "exit status 0"},
		{"arguments", Options{Groups: []string{group}}, []string{"printf", "%s|", "a b", "--", "$1", ""}, "a b|--|$1||", "exit status 0"},
		{"no group", Options{Groups: []string{"/proc/none"}}, []string{"cat"}, "may not write 0 to /proc/none/cgroup.procs", "exit status 125"},
	} {
		out := &tail.Tail{Limit: 1 << 10}
		c.options.Out = io.Writer(out)
		child, err := Start(c.args, c.options)
		if err != nil {
			t.Fatal(err)
		}
		<-child.Done()
		if how := child.How(); how != c.code || !strings.Contains(out.String(), c.said) || child.Name() != c.args[0] || child.Killed() {
			t.Errorf("%s: %s, %q, %s", c.name, how, out.String(), child.Name())
		}
		if err := child.Close(); err != nil {
			t.Error(err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(group, "cgroup.procs")); err != nil || string(text) != "0\n" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := Start([]string{"no-such-program"}, Options{Score: new(0)}); err == nil {
		t.Error("a program that does not exist: no error")
	}
}
