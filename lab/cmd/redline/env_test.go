package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/machine"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/results"
)

func TestPrintEnv(t *testing.T) {
	var b bytes.Buffer
	m := results.Machine{CPU: "Fast CPU", CPUs: 4, MemoryBytes: 8 << 30, OS: "Debian 12", Kernel: "6.18.0"}
	if err := printEnv(&b, screen.Screen{}, m, nil); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.Contains(got, "Fast CPU, 4 CPUs, 8.00 GiB") || !strings.Contains(got, "Nothing on this machine disturbs") {
		t.Errorf("printed %s", got)
	}
	b.Reset()
	changes := []machine.Change{{Path: "/sys/a", From: "x", To: "y"}, {Path: "/sys/b", From: "x", To: "y"}}
	if err := printEnv(&b, screen.Screen{}, m, []machine.Finding{
		{Name: "bad", Value: "now", Disturbs: true, Why: "because", Advice: "first\nsecond", Changes: changes},
		{Name: "fine", Value: "so", Why: "whatever", Advice: "leave it"},
	}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"! bad", "because", "first  ", "second  ", "--apply: /sys/a: x -> y, and 1", "  fine", "1 of 2 findings disturb", "changes 2 settings"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

func TestEnvUsage(t *testing.T) {
	for _, args := range []string{"ls", "--apply --json", "--server-cpus x", "--generator-cpus 3-1", "--nosuch"} {
		if code := run(t.Context(), append([]string{"env"}, strings.Fields(args)...)); code != 2 {
			t.Errorf("redline env %s: exit code %d, want 2", args, code)
		}
	}
}

// killer is a guard that records its calls.
type killer struct {
	pid      int
	released bool
	refuses  bool
}

func (k *killer) KillTree(pid int) (func() error, error) {
	if k.refuses {
		return nil, os.ErrClosed
	}
	k.pid = pid
	return func() error { k.released = true; return nil }, nil
}

func TestRunUnder(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	for _, c := range []struct {
		script string
		code   cli.ExitCode
	}{
		{"exit 0", 0},
		{"exit 7", 7},
		{"kill -TERM $$", 128 + 15},
		{"kill -INT $PPID; for i in $(seq 1000); do sleep 0.01; done", 9}, // forwarded, because the input is not a terminal
	} {
		k := &killer{}
		err := runUnder(k, []string{"/bin/sh", "-c", "trap 'exit 9' INT; " + c.script}, "X=1")
		var code cli.ExitCode
		if errors.As(err, &code); code != c.code || c.code == 0 && err != nil {
			t.Errorf("%s: %v, want code %d", c.script, err, c.code)
		}
		if k.pid == 0 || !k.released {
			t.Errorf("%s: the guard knows %+v", c.script, k)
		}
	}
	if err := runUnder(&killer{}, []string{"/bin/sh", "-c", `echo "$RECORD" >"$0"`, out}, "RECORD=what was changed"); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(out); err != nil || string(b) != "what was changed\n" {
		t.Errorf("the command's record is %q, %v", b, err)
	}
	var code cli.ExitCode
	if err := runUnder(&killer{}, []string{filepath.Join(t.TempDir(), "none")}, ""); !errors.Is(err, os.ErrNotExist) || errors.As(err, &code) {
		t.Errorf("no such command: %v", err)
	}
	if err := runUnder(&killer{refuses: true}, []string{"sleep", "600"}, "X=1"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("no guard: %v", err)
	}
}

func TestHold(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	if err := hold(ctx, strings.NewReader("x\n"), io.Discard); err != nil {
		t.Errorf("end of input: %v", err)
	}
	r, w := io.Pipe()
	defer w.Close()
	cancel()
	if err := hold(ctx, r, io.Discard); err != nil {
		t.Errorf("interrupt: %v", err)
	}
}

func TestWorse(t *testing.T) {
	tidy := errors.New("tidy")
	var code cli.ExitCode
	if err := worse(cli.ExitCode(3), nil); !errors.As(err, &code) || code != 3 {
		t.Errorf("code alone: %v", err)
	}
	if err := worse(cli.ExitCode(4), tidy); !errors.As(err, &code) || code != 4 {
		t.Errorf("code and error: %v", err)
	}
	if err := worse(nil, tidy); !errors.Is(err, tidy) {
		t.Errorf("error alone: %v", err)
	}
	if err := worse(nil, nil); err != nil {
		t.Errorf("nothing: %v", err)
	}
}
