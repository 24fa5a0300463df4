package profile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"path/filepath"
	"runtime"
	rpprof "runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

func TestParse(t *testing.T) {
	got, err := Parse("cpu, heap,mutex")
	if err != nil || !slices.Equal(got, []Kind{"cpu", "heap", "mutex"}) {
		t.Errorf("%v, %v", got, err)
	}
	for list, want := range map[string]string{
		"":         `"" is no profile: write some of allocs,block,cpu,goroutine,heap,mutex,threadcreate`,
		"cpu,soup": `"soup" is no profile`,
		"cpu,cpu":  "cpu is named twice",
	} {
		if got, err := Parse(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", list, got, err, want)
		}
	}
}

// pages are the handlers of net/http/pprof.
func pages(t *testing.T) URL {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return URL(s.URL + "/debug/pprof")
}

// busy uses the CPU and waits for mutexes until stop is called.
func busy(t *testing.T) {
	t.Helper()
	before := runtime.SetMutexProfileFraction(1)
	var mu sync.Mutex
	var all sync.WaitGroup
	end := make(chan struct{})
	for range 4 {
		all.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				mu.Lock()
				spin(20_000)
				mu.Unlock()
			}
		})
	}
	t.Cleanup(func() {
		close(end)
		all.Wait()
		runtime.SetMutexProfileFraction(before)
	})
}

var spun int

//go:noinline
func spin(n int) {
	for i := range n {
		spun += i * i
	}
}

func TestTakeFromURL(t *testing.T) {
	source := pages(t)
	busy(t)
	list := []Kind{CPU, "heap", "mutex", "goroutine", "allocs"}
	dir := filepath.Join(t.TempDir(), "new", "profiles")
	for i, got := range Take(t.Context(), source, list, time.Second) {
		if got.Kind == "allocs" && got.Err != nil && strings.Contains(got.Err.Error(), "empty") {
			continue // one allocation in 512 KiB is sampled
		}
		if got.Err != nil || got.Kind != list[i] || (got.Seconds > 0) != got.Kind.Lasting() {
			t.Errorf("%d: %s of %v s, %v", i, got.Kind, got.Seconds, got.Err)
			continue
		}
		path, err := got.Save(dir)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil || filepath.Base(path) != string(list[i])+".pprof" {
			t.Errorf("%s, %v", path, err)
		}
		if _, err := Decode(data); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		// With the race detector the largest functions are the detector's.
		if got.Kind == CPU && (len(got.Top) == 0 || got.Top[0].Name == "" || got.Top[0].Flat <= 0 || got.Top[0].Flat > got.Top[0].Cum || got.Top[0].Cum > 1) {
			t.Errorf("top functions %v", got.Top)
		}
	}
}

// TestReady reports in advance that mutex contention is not recorded.
func TestReady(t *testing.T) {
	source := pages(t)
	if err := source.Ready(t.Context(), []Kind{CPU, "heap"}); err != nil {
		t.Error(err)
	}
	if err := source.Ready(t.Context(), []Kind{CPU, "mutex"}); err == nil || !strings.Contains(err.Error(), "SetMutexProfileFraction(10)") {
		t.Error(err)
	}
	busy(t)
	if err := source.Ready(t.Context(), []Kind{"mutex"}); err != nil {
		t.Error(err)
	}
	if err := (source + "/none").Ready(t.Context(), []Kind{"mutex"}); err == nil {
		t.Error("no page: no error")
	}
}

// serveProfiles is a control socket that answers with what say returns.
func serveProfiles(t *testing.T, say func(question string) string) Socket {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() {
		if err := ln.Close(); err != nil {
			t.Error(err)
		}
		all.Wait()
	})
	all.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				question, err := bufio.NewReader(conn).ReadString('\n')
				if err == nil {
					_, _ = io.WriteString(conn, say(strings.TrimSuffix(question, "\n"))) // the reader may have left
				}
			})
		}
	})
	return Socket(path)
}

func framed(kind string, data []byte) string {
	return fmt.Sprintf(`{"schema":"redline.profile/1","profile":%q,"bytes":%d}`+"\n%s", kind, len(data), data)
}

func TestTakeFromSocket(t *testing.T) {
	busy(t)
	var asked []string
	var mu sync.Mutex
	source := serveProfiles(t, func(question string) string {
		mu.Lock()
		asked = append(asked, question)
		mu.Unlock()
		kind := strings.Fields(question)[1]
		var b bytes.Buffer
		if err := rpprof.Lookup(kind).WriteTo(&b, 0); err != nil {
			return err.Error()
		}
		return framed(kind, b.Bytes())
	})
	for _, got := range Take(t.Context(), source, []Kind{"mutex", "goroutine"}, time.Second) {
		if got.Err != nil {
			t.Errorf("%s: %v", got.Kind, got.Err)
		}
	}
	// The mutex profile at both ends, and again because the socket does not wait.
	if want := []string{"profile mutex 0", "profile mutex 1", "profile mutex 0", "profile goroutine 0"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}

func TestSocketRefused(t *testing.T) {
	for name, c := range map[string]struct{ answer, want string }{
		"error":     {`{"schema":"redline.profile/1","profile":"cpu","bytes":0,"error":"busy"}` + "\n", "the service reported: busy"},
		"snapshot":  {`{"schema":"redline.runtime/1"}` + "\n", "this socket offers no profiles"},
		"no JSON":   {"hello\n", "invalid character"},
		"cut":       {`{"schema":"redline.profile/1","bytes":5}` + "\nabc", "unexpected EOF"},
		"silence":   {"", "EOF"},
		"large":     {`{"schema":"redline.profile/1","bytes":99999999999}` + "\n", "more than 256 MiB"},
		"negative":  {`{"schema":"redline.profile/1","bytes":-1}` + "\n", "more than 256 MiB"},
		"long line": {strings.Repeat("x", 2*headLimit), "buffer full"},
		"garbage":   {framed("heap", []byte("not a profile")), "parse profile of 13 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			source := serveProfiles(t, func(string) string { return c.answer })
			got := Take(t.Context(), source, []Kind{"heap"}, time.Second)
			if err := got[0].Err; err == nil || !strings.Contains(err.Error(), c.want) || got[0].Data != nil {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if got := Take(t.Context(), Socket(filepath.Join(t.TempDir(), "none")), []Kind{"heap"}, 0); got[0].Err == nil {
		t.Error("no socket: no error")
	}
}

// A failed difference is an error; the whole profile is not returned instead.
func TestSocketDifferenceRefused(t *testing.T) {
	source := serveProfiles(t, func(string) string { return framed("mutex", []byte("?")) })
	if _, err := source.Take(t.Context(), "mutex", 0); err == nil {
		t.Error("no error")
	}
}

func TestURLRefused(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/busy/profile":
			http.Error(w, "Could not enable CPU profiling:\n already in use", http.StatusInternalServerError)
		case "/cut/heap":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "short")
		}
	}))
	defer s.Close()
	for _, c := range []struct {
		base string
		kind Kind
		want string
	}{
		{"/busy", CPU, "/busy/profile?seconds=1: status 500: Could not enable CPU profiling: already in use"},
		{"/cut", "heap", "unexpected EOF"},
	} {
		if err := Take(t.Context(), URL(s.URL+c.base), []Kind{c.kind}, time.Second)[0].Err; err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.base, err, c.want)
		}
	}
}

// The end of a context ends the wait for a profile, whatever the source.
func TestTakeEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := make(chan struct{}, 2)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer s.Close()
	release := make(chan struct{})
	socket := serveProfiles(t, func(string) string {
		asked <- struct{}{}
		<-release
		return ""
	})
	defer close(release)
	go func() {
		<-asked
		<-asked
		cancel()
	}()
	errs := make(chan error, 2)
	for _, source := range []Source{URL(s.URL), socket} {
		go func() { errs <- Take(ctx, source, []Kind{CPU}, time.Hour)[0].Err }()
	}
	for range 2 {
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

// synthetic is a CPU profile: main calls spin, of which half is inlined into it,
// and waits; recurse calls itself.
func synthetic(scale int64) *profile.Profile {
	function := func(id uint64, name string) *profile.Function { return &profile.Function{ID: id, Name: name} }
	outer, inner, other := function(1, "main"), function(2, "spin"), function(3, "recurse")
	at := func(id uint64, of ...*profile.Function) *profile.Location {
		l := &profile.Location{ID: id, Address: id}
		for _, f := range of {
			l.Line = append(l.Line, profile.Line{Function: f})
		}
		return l
	}
	root, leaf, inlined, again, bare := at(1, outer), at(2, inner), at(3, inner, outer), at(4, other), at(5)
	sample := func(v int64, stack ...*profile.Location) *profile.Sample {
		return &profile.Sample{Location: stack, Value: []int64{1, v * scale}}
	}
	return &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1,
		Sample:   []*profile.Sample{sample(30, leaf, root), sample(30, inlined), sample(20, again, again, root), sample(15, root), sample(5, bare)},
		Location: []*profile.Location{root, leaf, inlined, again, bare}, Function: []*profile.Function{outer, inner, other},
	}
}

func TestTop(t *testing.T) {
	want := []Function{{"spin", 0.6, 0.6}, {"recurse", 0.2, 0.2}, {"main", 0.15, 0.95}}
	if got := top(synthetic(1), 3); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := top(synthetic(1), 9); len(got) != 4 || got[3].Name != "0x5" {
		t.Errorf("%v", got)
	}
	if got := top(&profile.Profile{}, 3); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}

func TestDifference(t *testing.T) {
	bytesOf := func(scale int64) []byte {
		var b bytes.Buffer
		if err := synthetic(scale).Write(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	data, err := difference(bytesOf(2), bytesOf(5))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, s := range p.Sample {
		sum += s.Value[1]
	}
	if sum != 300 {
		t.Errorf("the difference of 500 and 200 is %d", sum)
	}
	for _, c := range [][2][]byte{{[]byte("?"), bytesOf(1)}, {bytesOf(1), nil}} {
		if _, err := difference(c[0], c[1]); err == nil {
			t.Errorf("difference of %d and %d bytes: no error", len(c[0]), len(c[1]))
		}
	}
}
