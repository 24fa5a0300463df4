package nethttptest

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write docs/nethttp-differences.md anew")

// TestMain wants goroutines and descriptors back when all tests are done.
func TestMain(m *testing.M) {
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if given["test.fuzz"] || given["test.fuzzworker"] {
		os.Exit(m.Run()) // it has goroutines of its own
	}
	if !given["test.parallel"] {
		if err := flag.Set("test.parallel", "16"); err != nil { // trials wait more than they work
			panic(err)
		}
	}
	os.Exit(leaks(m.Run))
}

// leaks runs the tests, and fails them when something is left behind.
func leaks(tests func() int) int {
	(&trial{send: probeRequest}).start(netHTTP, "") // opens what the runtime keeps
	goroutines, files := runtime.NumGoroutine(), openFiles()
	code := tests()
	var g, f int
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if g, f = runtime.NumGoroutine(), openFiles(); g <= goroutines && f <= files {
			return code
		}
	}
	b := make([]byte, 1<<20)
	fmt.Printf("FAIL: %d goroutines, %d before; %d files, %d before\n%s\n", g, goroutines, f, files, b[:runtime.Stack(b, true)])
	return 1
}

// openFiles is the number of descriptors of the process, or 0 where it cannot be
// told.
func openFiles() int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(d)
}
