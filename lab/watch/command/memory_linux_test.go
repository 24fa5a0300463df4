package command

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// The runtime of a process that tells nothing about itself is read from its memory.
func TestMemory(t *testing.T) {
	lines, _, err := watchedUntil(t, t.Context(), Options{PID: os.Getpid()}, `"goroutines_waiting"`)
	if err != nil {
		t.Fatal(err)
	}
	for figure, least := range map[string]float64{
		"goroutines": 2, "goroutines_waiting": 1, "go_procs": float64(runtime.GOMAXPROCS(0)), "go_threads": 1, "heap_goal_bytes": 1 << 20,
	} {
		if v, ok := last(lines, figure); !ok || v < least {
			t.Errorf("%s: %v %v", figure, v, ok)
		}
	}
}

// A program that is not Go's is watched without a word about Go.
func TestMemoryOfOthers(t *testing.T) {
	lines, _, err := watched(t, t.Context(), Options{Command: []string{"sleep", "30"}, For: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := last(lines, "rss_bytes"); !ok {
		t.Error("nothing is watched")
	}
	if _, ok := last(lines, "goroutines"); ok {
		t.Error("sleep has goroutines")
	}
}

// idle is the argument by which this program does nothing.
const idle = "do-nothing"

// A script that becomes a Go program is read from then on.
func TestMemoryAfterExec(t *testing.T) {
	file := filepath.Join(t.TempDir(), "go")
	script := []string{"sh", "-c", await + `exec "$1" ` + idle, file, os.Args[0]}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	read, first := false, tell(t, sampled, file)
	_, _, err := watchedBy(t, ctx, Options{Command: script}, func(line string) {
		first(line)
		if strings.Contains(line, `"goroutines_waiting"`) {
			read = true
			cancel()
		}
	})
	if err != nil || !read {
		t.Errorf("%v, read %v", err, read)
	}
}
