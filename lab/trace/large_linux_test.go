package trace_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"testing"

	"github.com/redline-go/redline/lab/trace"
	"github.com/redline-go/redline/lab/trace/tracetest"
)

var large = flag.Int64("large", 16, "MiB of the generated trace in TestLarge")

const (
	readVariable = "REDLINE_TEST_TRACE" // names a trace that a child of the test reads
	childLimit   = 80 << 20             // its memory limit
	mostResident = 100 << 10            // KiB that it may have resident
)

func TestMain(m *testing.M) {
	path := os.Getenv(readVariable)
	if path == "" {
		os.Exit(m.Run())
	}
	debug.SetMemoryLimit(childLimit)
	f, err := os.Open(path)
	if err == nil {
		var r *trace.Report
		if r, err = trace.Read(context.Background(), f, trace.Options{}); err == nil {
			fmt.Printf("%d events, %d bytes, %d waits, partial %q\n", r.Events, r.Bytes, r.Waits[0].Count, r.Partial)
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// writeLarge writes a trace of generations of 8 MiB in which a hundred goroutines take turns.
// It returns the number of turns.
func writeLarge(path string, size int64) (turns int, err error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	out := bufio.NewWriter(f)
	w := tracetest.New(out)
	var m *tracetest.Thread
	at := uint64(1000)
	const perTurn = 24 // bytes, about
	for written := int64(0); written < size; {
		w.Begin(at)
		if m == nil {
			m = w.Thread(1)
			for g := range uint64(100) {
				m.Create(at, 10+g, "main.work", "main.main")
				m.Start(at+10, 10+g)
				m.Block(at+20, "chan receive", "main.receive", "main.work")
				at += 100
			}
		}
		for range 8 << 20 / perTurn {
			g := 10 + at/100%100
			m.Unblock(at, g, "main.send", "main.main")
			m.Start(at+10, g)
			m.Syscall(at+20, "syscall.write", "main.work")
			m.SyscallEnd(at + 30)
			m.Block(at+40, "chan receive", "main.receive", "main.work")
			at += 100
			turns++
			written += perTurn
		}
	}
	if err := w.End(); err != nil {
		return 0, err
	}
	return turns, out.Flush()
}

// TestLarge reads a trace that is larger than the memory of the process that reads it may be.
// With -large 1024 it is a GiB.
func TestLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.trace")
	turns, err := writeLarge(path, *large<<20)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), readVariable+"="+path)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	events := 100*3 + turns*5 + 1 // and the status of the P; those of later generations count too
	var got, bytes, waits int
	if _, err := fmt.Sscanf(string(out), "%d events, %d bytes, %d waits", &got, &bytes, &waits); err != nil || int64(bytes) != info.Size() || waits != turns || got < events {
		t.Errorf("%s: %d turns, %d bytes", out, turns, info.Size())
	}
	usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Fatal("no usage of the child")
	}
	t.Logf("%d MiB were read with %d MiB resident at most", info.Size()>>20, usage.Maxrss>>10)
	if !raced && usage.Maxrss > mostResident {
		t.Errorf("%d KiB resident, want at most %d", usage.Maxrss, mostResident)
	}
}
