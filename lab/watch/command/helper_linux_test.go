package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/watch"
)

// line is any of the JSON lines.
type line struct {
	Type, End, Source, Reason string
	PID                       int
	T                         float64
	Samples                   int
	Values                    map[string]float64
	Extra                     []watch.Figure `json:"extra_figures"`
}

// listener is an output that keeps what it receives, and calls a function with each line.
type listener struct {
	kept strings.Builder
	hear func(line string)
}

func (l *listener) Write(b []byte) (int, error) {
	l.hear(string(b))
	return l.kept.Write(b)
}

// sampled is in the line of a sample.
const sampled = `"type":"sample"`

// await is the begin of a script with the argument FILE: it waits for [tell].
const await = `while [ ! -e "$0" ]; do sleep 0.02; done; `

// tell creates a file when a text is in the output.
func tell(t *testing.T, text, file string) (hear func(line string)) {
	t.Helper()
	return func(line string) {
		if strings.Contains(line, text) {
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Error(err)
			}
		}
	}
}

// watched runs a watch, and returns its JSON lines and what it said.
func watched(t *testing.T, ctx context.Context, o Options) (lines []line, said string, err error) {
	t.Helper()
	return watchedBy(t, ctx, o, func(string) {})
}

// watchedUntil is watched, and ends when a text is in the output.
func watchedUntil(t *testing.T, ctx context.Context, o Options, text string) (lines []line, said string, err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return watchedBy(t, ctx, o, func(line string) {
		if strings.Contains(line, text) {
			cancel()
		}
	})
}

// watchedBy is watched, and calls a function with each line.
func watchedBy(t *testing.T, ctx context.Context, o Options, hear func(line string)) (lines []line, said string, err error) {
	t.Helper()
	if o.Every == 0 {
		o.Every = 20 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var errs bytes.Buffer
	out := listener{hear: hear}
	err = Run(ctx, o, Console{Out: &out, Err: &errs})
	for text := range strings.Lines(out.kept.String()) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		lines = append(lines, l)
	}
	return lines, errs.String(), err
}

// last returns the newest value of a figure.
func last(lines []line, figure string) (v float64, ok bool) {
	for _, l := range lines {
		if x, is := l.Values[figure]; is {
			v, ok = x, true
		}
	}
	return v, ok
}

func code(err error) int {
	var c cli.ExitCode
	if errors.As(err, &c) {
		return int(c)
	}
	return -1
}

// end waits for the end of processes.
func end(t *testing.T, pids []string) {
	t.Helper()
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		for range 6000 { // the killed child of an ended process is reaped by another one, soon
			stat, err := procfs.Host.Stat(pid)
			if procfs.Gone(err) || stat.Dead() {
				pid = 0
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if pid != 0 {
			t.Errorf("process %d is still there", pid)
		}
	}
}
