package suite

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/internal/cputime"
	"github.com/redline-go/redline/lab/spawn"
)

const (
	burnVerb = "burn"

	spinFlaw = "spin-" // a subject that computes so many rounds for each request
)

// burn keeps its CPU busy and idle by turns until r ends: a half to three halves of both times, so
// that it does not keep time with the runs.
func burn(r io.Reader, pattern string) {
	busy, idle, err := parsePattern(pattern)
	if err != nil {
		panic(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, r)
		ended <- err
	}()
	for {
		scale := 0.5 + rand.Float64()
		burst := time.Duration(scale * float64(busy))
		for began := time.Now(); time.Since(began) < burst; {
			spun += rounds(1000)
		}
		select {
		case <-ended:
			return
		case <-time.After(time.Duration(scale * float64(idle))):
		}
	}
}

// parsePattern reads BUSY/IDLE.
func parsePattern(text string) (busy, idle time.Duration, err error) {
	on, off, _ := strings.Cut(text, "/")
	busy, err = time.ParseDuration(on)
	if err != nil {
		return 0, 0, err
	}
	idle, err = time.ParseDuration(off)
	return busy, idle, err
}

// rounds computes, and returns what the compiler cannot leave out.
func rounds(n int) uint64 {
	x := uint64(n)
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

var spun uint64

// spin does the work of a subject that is called spin-ROUNDS.
func spin(flaw string) {
	n, err := strconv.Atoi(strings.TrimPrefix(flaw, spinFlaw))
	if err != nil {
		panic(err)
	}
	if rounds(n) == 1 { // never
		fmt.Fprintln(os.Stderr, "spun")
	}
}

// roundsFor returns how many rounds take so many microseconds of CPU time.
func roundsFor(t *testing.T, micros float64) int {
	t.Helper()
	const n = 50_000_000
	before, err := cputime.Own()
	if err != nil {
		t.Fatal(err)
	}
	spun += rounds(n)
	after, err := cputime.Own()
	if err != nil {
		t.Fatal(err)
	}
	return int(micros * n * 1e3 / float64(after-before))
}

// disturb keeps the CPUs busy in a pattern until the test ends.
func disturb(t *testing.T, exe, pattern string, cpus []int) {
	t.Helper()
	l := spawn.NewLauncher()
	t.Cleanup(l.Close)
	for _, cpu := range cpus {
		cmd := exec.Command(exe, burnVerb, pattern)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Start(cmd, []int{cpu}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
				t.Error(err)
			}
		})
	}
}
