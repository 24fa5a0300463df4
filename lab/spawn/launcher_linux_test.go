package spawn

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/internal/tail"
	"github.com/redline-go/redline/lab/probe"
)

// A child runs on its CPUs, and the affinity of this process does not change.
func TestStart(t *testing.T) {
	before, err := probe.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	last := before[len(before)-1:]
	for range 50 { // launchers happen to begin on one thread or another
		l := NewLauncher()
		said := &tail.Tail{Limit: 1 << 10}
		cmd := exec.Command("grep", "Cpus_allowed_list", "/proc/self/status")
		cmd.Stdout, cmd.Env = said, Environ()
		if err := l.Start(cmd, last); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		l.Close()
		if want := probe.FormatCPUs(last); !strings.HasSuffix(strings.TrimSpace(said.String()), "\t"+want) {
			t.Fatalf("the child has %q, want %s", said, want)
		}
		if now, err := probe.Allowed(); err != nil || !slices.Equal(now, before) {
			t.Fatalf("this process may run on %v, before %v; %v", now, before, err)
		}
	}
}

func TestEnviron(t *testing.T) {
	t.Setenv("GOGC", "7")
	t.Setenv("REDLINE_TEST", "x=y")
	env := Environ()
	if slices.Contains(env, "GOGC=7") || !slices.Contains(env, "REDLINE_TEST=x=y") {
		t.Errorf("%q", env)
	}
}
