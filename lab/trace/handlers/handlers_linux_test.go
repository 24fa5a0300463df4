package handlers

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"reflect"
	"runtime/trace"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/internal/cputime"
	tracing "github.com/redline-go/redline/lab/trace"
)

// start begins to observe this process, or skips the test where that is forbidden.
func start(t testing.TB) *Watch {
	t.Helper()
	w, err := Start(os.Getpid())
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrNotExist) {
		t.Skip("functions are not observed here: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

type shop struct{}

func (*shop) items(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "items") }

func home(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "home") }

// All requests of a trace have the names of their handlers, of which the trace itself has few.
func TestAll(t *testing.T) {
	mux, inner := http.NewServeMux(), http.NewServeMux()
	mux.HandleFunc("/items", new(shop).items)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { inner.ServeHTTP(w, r) })
	inner.HandleFunc("/", home)
	server := httptest.NewServer(mux)
	defer server.Close()
	ask := func(path string) {
		resp, err := server.Client().Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
	}
	ask("/") // the connection is there
	var b bytes.Buffer
	w := start(t)
	if err := trace.Start(&b); err != nil {
		_, _, stopped := w.Stop()
		t.Skipf("another trace is taken: %v", errors.Join(err, stopped))
	}
	const items, homes = 200, 100
	for i := range items {
		ask("/items")
		if i < homes {
			ask("/")
		}
	}
	trace.Stop()
	seen, lost, err := w.Stop()
	if err != nil || lost > 0 {
		t.Fatal(lost, err)
	}
	r, err := tracing.Read(t.Context(), &b, tracing.Options{Handlers: seen})
	if err != nil || r.Partial != "" {
		t.Fatal(err, r.Partial)
	}
	counts := map[string]int64{}
	for _, g := range r.Groups {
		counts[g.Name[strings.LastIndexByte(g.Name, '/')+1:]] += g.Count
	}
	if counts["handlers.(*shop).items"] != items || counts["handlers.home"] != homes || counts[tracing.NotSeen] > 1 {
		t.Errorf("requests are %v", counts)
	}
}

func TestErrors(t *testing.T) {
	if _, err := Start(1 << 30); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a process that never was: %v", err)
	}
	sleep := exec.CommandContext(t.Context(), "sleep", "60")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = sleep.Process.Kill()
		_ = sleep.Wait() // it was killed
	}()
	if _, err := Start(sleep.Process.Pid); err == nil {
		t.Error("a program that is not of Go is observed")
	}
}

// observer is the variable of the environment that makes the test program one that observes its parent.
const observer = "OBSERVE_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(observer) == "" {
		os.Exit(m.Run())
	}
	if _, err := Start(os.Getppid()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("observed")
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
}

// Nothing remains in the process that was observed, also if the observer is killed.
func TestKilled(t *testing.T) {
	if _, _, err := start(t).Stop(); err != nil {
		t.Fatal(err)
	}
	code := func() string {
		memory, err := os.Open("/proc/self/mem")
		if err != nil {
			t.Fatal(err)
		}
		defer memory.Close()
		var p [8]byte
		if _, err := memory.ReadAt(p[:], int64(reflect.ValueOf(http.HandlerFunc.ServeHTTP).Pointer())); err != nil {
			t.Fatal(err)
		}
		return string(p[:])
	}
	before := code()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), observer+"=1")
	in, failed := child.StdinPipe()
	out, err := child.StdoutPipe()
	if err = errors.Join(failed, err, child.Start()); err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "observed\n" {
		t.Fatal(line, errors.Join(err, child.Process.Kill()))
	}
	during := code()
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	if after := code(); before == during || before != after {
		t.Errorf("the code is %x before, %x while it is observed, and %x after", before, during, after)
	}
}

// handler is a variable, so that its calls are not inlined.
var handler http.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})

// What a call of a handler costs while nobody and somebody observes.
func BenchmarkHandler(b *testing.B) {
	calls := func(b *testing.B) {
		cost := cputime.OfThread(func() {
			for b.Loop() {
				handler.ServeHTTP(nil, nil)
			}
		})
		b.ReportMetric(float64(cost.Nanoseconds())/float64(b.N), "cpu-ns/op")
	}
	b.Run("alone", calls)
	b.Run("observed", func(b *testing.B) {
		w := start(b)
		calls(b)
		seen, lost, err := w.Stop()
		if n := len(seen.List) + int(lost); err != nil || n < b.N {
			b.Fatalf("%d of %d calls were seen: %v", n, b.N, err)
		}
	})
}
