package gather

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/redline-go/redline/lab/diagnose"
)

// sharing is a program with types whose atomic values are neighbours, or are not.
const sharing = `package main

import (
	"fmt"
	"os"
	"sync/atomic"
)

type (
	near     [2]atomic.Uint64
	far      [2]struct {
		n atomic.Uint64
		_ [120]byte
	}
	counters struct {
		name         string
		hits, misses atomic.Int64
	}
	spread struct {
		hits   atomic.Int64
		_      [128]byte
		misses atomic.Int64
	}
	holder struct {
		name string
		all  near
	}
)

var (
	a near
	b far
	c counters
	d spread
	e holder
)

func main() {
	fmt.Println(&a, &b, &c, &d, &e)
	os.Stdin.Read(make([]byte, 1))
}
`

// Types with atomic values in one cache line are found in the debugging information of a program.
func TestNeighbours(t *testing.T) {
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "sharing")
	if err := os.WriteFile(source, []byte(sharing), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), binary)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	got, err := neighbours(&diagnose.Server{PIDs: []int{cmd.Process.Pid}, Module: "command-line-arguments"})
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"main.near": "2 atomic values, 8 bytes apart", "main.counters": "hits and misses, 8 bytes apart", "main.holder": "all has 2 atomic values, 8 bytes apart"}
	for _, n := range got {
		if want[n.Type] != n.What {
			t.Errorf("%+v, want %q", n, want[n.Type])
		}
		delete(want, n.Type)
	}
	if len(want) > 0 {
		t.Errorf("%v are missing", want)
	}
	if _, err := neighbours(&diagnose.Server{PIDs: []int{1 << 30}}); err == nil {
		t.Error("no error of a process that does not exist")
	}
}
