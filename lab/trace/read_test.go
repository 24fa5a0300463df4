package trace_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/trace"
	"github.com/redline-go/redline/lab/trace/tracetest"
)

// written returns a trace that write wrote after the begin of its first generation.
func written(t testing.TB, write func(w *tracetest.Writer)) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tracetest.New(&b)
	write(w)
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// read reads a trace that has no errors.
func read(t testing.TB, data []byte) *trace.Report {
	t.Helper()
	r, err := trace.Read(t.Context(), bytes.NewReader(data), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Partial != "" {
		t.Fatal(r.Partial)
	}
	return r
}

// small is a trace with two generations.
func small(t testing.TB) []byte {
	return written(t, func(w *tracetest.Writer) {
		w.Begin(1000)
		m := w.Thread(1)
		m.Create(2000, 7, "main.work")
		m.Start(3000, 7)
		w.Begin(4000)
		m.Block(5000, "sleep", "time.Sleep", "main.work")
	})
}

func TestRefused(t *testing.T) {
	good := small(t)
	for name, c := range map[string]struct {
		data string
		want string
	}{
		"empty":     {"", "it has no bytes"},
		"short":     {"go 1.26", "no execution trace"},
		"text":      {"hello, this is no trace at all", "no execution trace"},
		"gzip":      {"\x1f\x8b" + strings.Repeat("x", 100), "no execution trace"},
		"Go 1.21":   {"go 1.21 trace\x00\x00\x00" + string(good[16:]), "format of Go 1.21: traces of programs built with Go 1.22 or newer"},
		"Go 1.11":   {"go 1.11 trace\x00\x00\x00", "format of Go 1.11"},
		"future":    {"go 1.99 trace\x00\x00\x00" + string(good[16:]), "newer than this redline knows"},
		"header":    {string(good[:16]), "no events"},
		"truncated": {string(good[:30]), "truncated"},
		"rubbish":   {string(good[:16]) + strings.Repeat("\xff", 100), "expected batch event"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := trace.Read(t.Context(), strings.NewReader(c.data), trace.Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) || r != nil {
				t.Errorf("%v, %v; want %q", r, err, c.want)
			}
		})
	}
}

// A trace that breaks off has a report of what was before, with the reason.
func TestTruncated(t *testing.T) {
	good := small(t)
	if r := read(t, good); r.WindowNS != 4000 || r.Go != "1.26" || r.Bytes != int64(len(good)) {
		t.Errorf("%d ns, Go %s, %d bytes of %d", r.WindowNS, r.Go, r.Bytes, len(good))
	}
	partial := 0
	for n := range len(good) {
		r, err := trace.Read(t.Context(), bytes.NewReader(good[:n]), trace.Options{})
		switch {
		case err == nil && r.Partial != "":
			partial++
		case err == nil && r.Events == 0:
			t.Errorf("%d bytes: a report without events", n)
		}
	}
	if partial == 0 {
		t.Error("no length gave a report of a part")
	}
}

func TestReadLimits(t *testing.T) {
	data := written(t, func(w *tracetest.Writer) {
		w.Begin(1)
		m := w.Thread(1)
		m.Create(2, 7, "main.work")
		w.Begin(3)
		for i := range uint64(100_000) {
			m.Create(4+i, 8+i, "main.work")
		}
	})
	r, err := trace.Read(t.Context(), bytes.NewReader(data), trace.Options{Memory: 1 << 20})
	if err != nil || !strings.Contains(r.Partial, "--memory") {
		t.Errorf("%v, %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := trace.Read(ctx, bytes.NewReader(data), trace.Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	good := small(f)
	f.Add(good)
	f.Add(good[:len(good)-20])
	f.Add([]byte("go 1.22 trace\x00\x00\x00"))
	f.Add([]byte{})
	f.Add(written(f, tasks))
	f.Add(written(f, syscalls))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := trace.Read(t.Context(), bytes.NewReader(data), trace.Options{Memory: 64 << 20})
		if (r == nil) == (err == nil) {
			t.Errorf("report %v, error %v", r != nil, err)
		}
	})
}
