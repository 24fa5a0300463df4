package profiles

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"runtime/trace"
	"strings"
	"testing"
	"time"
)

// gzipped is how a profile in the format of pprof begins.
var gzipped = []byte{0x1f, 0x8b}

func TestWrite(t *testing.T) {
	for _, kind := range Kinds() {
		var b bytes.Buffer
		begin := gzipped
		if kind == "trace" {
			begin = []byte("go 1.")
		}
		if err := Write(t.Context(), &b, kind, time.Millisecond); err != nil || !bytes.HasPrefix(b.Bytes(), begin) {
			t.Errorf("%s: %d bytes, %v", kind, b.Len(), err)
		}
	}
	if n := runtime.SetMutexProfileFraction(-1); n != 0 {
		t.Errorf("the fraction of mutexes stays %d", n)
	}
}

func TestWriteRefused(t *testing.T) {
	for kind, want := range map[string]string{"cpu": "needs a duration", "trace": "needs a duration", "soup": `no profile "soup"`} {
		var b bytes.Buffer
		if err := Write(t.Context(), &b, kind, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", kind, err, want)
		}
	}
}

// The end of a context ends what would take an hour.
func TestWriteEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, kind := range []string{"cpu", "trace", "mutex", "block"} {
		if err := Write(ctx, &bytes.Buffer{}, kind, time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// A program that records contention itself goes on doing so.
func TestWriteLeavesTheFraction(t *testing.T) {
	runtime.SetMutexProfileFraction(7)
	defer runtime.SetMutexProfileFraction(0)
	if err := Write(t.Context(), &bytes.Buffer{}, "mutex", time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if n := runtime.SetMutexProfileFraction(-1); n != 7 {
		t.Errorf("the fraction is %d, want 7", n)
	}
}

// There is one trace at a time.
func TestWriteTraceTwice(t *testing.T) {
	if err := trace.Start(io.Discard); err != nil {
		t.Fatal(err)
	}
	defer trace.Stop()
	if err := Write(t.Context(), &bytes.Buffer{}, "trace", time.Hour); err == nil || !strings.Contains(err.Error(), "already enabled") {
		t.Error(err)
	}
}
