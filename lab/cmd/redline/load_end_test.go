package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/internal/pace"
	"github.com/redline-go/redline/lab/load/command"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/results"
)

// TestLoadHandshakeHangs counts the connections of a closed loop that wait for their TLS
// handshake until the end.
func TestLoadHandshakeHangs(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { hello(w, r, 0) }))
	t.Cleanup(s.Close)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	relay(t, ln, s.Listener.Addr().String(), func() bool {
		n++
		return n > 17 // one of the command, the first 8 of the loop, and once after each of them another
	})
	code, out, said := loadOf(t, t.Context(), "--insecure", "-c", "8", "--requests-per-connection", "5", "-d", "2s", "--warmup", "0", "--json", "-", "https://"+ln.Addr().String()+"/hello")
	d := documentOf(t, out)
	if code != command.ExitInvalid || d.Unanswered != 8 || d.Latency.MaxUs < 4e5 || !slices.Contains(failed(d), "unanswered") {
		t.Errorf("exit code %d, %d unanswered, max %v us, gates %v; %s", code, d.Unanswered, d.Latency.MaxUs, failed(d), said)
	}
}

// relay forwards the bytes of each connection to addr and back, except those of connections
// that begin while hold reports true.
func relay(t *testing.T, ln net.Listener, addr string, hold func() bool) {
	var all sync.WaitGroup
	var open sync.Map
	t.Cleanup(func() {
		_ = ln.Close()
		open.Range(func(c, _ any) bool { return c.(net.Conn).Close() == nil || true })
		all.Wait()
	})
	all.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			open.Store(in, nil)
			if hold() {
				continue
			}
			out, err := net.Dial("tcp", addr)
			if err != nil {
				_ = in.Close()
				continue
			}
			open.Store(out, nil)
			for from, to := range map[net.Conn]net.Conn{in: out, out: in} {
				all.Go(func() {
					_, _ = io.Copy(to, from) // ends with either connection
					_ = to.Close()
				})
			}
		}
	})
}

// sinceWindow returns the time since the window began, of which the second request is the first: the one
// before it is that of the command. A busy machine may be long in starting a generator.
func sinceWindow() func(n int64) time.Duration {
	var begin atomic.Pointer[time.Time]
	return func(n int64) time.Duration {
		if n == 1 {
			return 0
		}
		now := time.Now()
		begin.CompareAndSwap(nil, &now)
		return time.Since(*begin.Load())
	}
}

// TestLoadStallsTwice counts the requests that hang at the end even if others have hung
// before.
func TestLoadStallsTwice(t *testing.T) {
	hang := hangs(t, func(n int64) bool { return n >= 200 })
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, n int64) {
		if n >= 100 && n < 108 { // one on each connection
			time.Sleep(800 * time.Millisecond)
		}
		hang(w, r, n)
	})
	code, out, said := loadOf(t, t.Context(), "-c", "8", "-d", "2200ms", "--warmup", "0", "--json", "-", url)
	if d := documentOf(t, out); code != command.ExitInvalid || d.Unanswered != 8 || d.Latency.MaxUs < 15e5 { // twice the longest before
		t.Errorf("exit code %d, %d unanswered, max %v us; %s", code, d.Unanswered, d.Latency.MaxUs, said)
	}
}

// TestLoadAnswersLate records the latency of answers that arrive after the window and took
// much longer than any in it, and does not count them as unanswered.
func TestLoadAnswersLate(t *testing.T) {
	for try := 1; ; try++ {
		d, said, why := answeredLate(t)
		if d.Latency.Count != d.Requests+d.Late+d.Unanswered {
			t.Errorf("%d latencies of %d requests, %d late, %d unanswered", d.Latency.Count, d.Requests, d.Late, d.Unanswered)
		}
		if why != "" { // what is late, and what was unanswered, is the machine's
			t.Log("it stalls:", why)
			if try < 5 {
				continue
			}
			return
		}
		if d.Unanswered != 0 || d.Late != 4 || d.Latency.MaxUs < 3e5 {
			t.Errorf("%d unanswered, %d late, %d latencies of %d, max %v us; %s", d.Unanswered, d.Late, d.Latency.Count, d.Requests, d.Latency.MaxUs, said)
		}
		return
	}
}

// answeredLate holds the last four requests of a window until 400 ms after it. why is the reason if the
// machine stalled: then others took as long, or these were answered when nobody waits for them any more.
func answeredLate(t *testing.T) (d present.Document, said, why string) {
	t.Helper()
	since := sinceWindow()
	const end = 1600 * time.Millisecond
	var held, tardy atomic.Int64
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, n int64) {
		if at := since(n); at > 900*time.Millisecond && at < end {
			held.Add(1)
			time.Sleep(end - at)
			if since(n) > end+300*time.Millisecond {
				tardy.Add(1)
			}
		}
		hello(w, r, n)
	})
	_, out, said := loadOf(t, t.Context(), "-c", "4", "-d", "1200ms", "--warmup", "0", "--allow-invalid", "--json", "-", url)
	d = documentOf(t, out)
	var longest time.Duration
	for _, p := range d.Series {
		for _, bar := range p.Heat {
			longest = max(longest, results.HeatFloor(int(bar[0])))
		}
	}
	if held.Load() != 4 || tardy.Load() > 0 || longest > 150*time.Millisecond {
		why = fmt.Sprintf("%d held, %d of them for too long, others took up to %v", held.Load(), tardy.Load(), longest)
	}
	return d, said, why
}

// TestLoadServerEnds keeps the result of an open loop whose server ends shortly before the
// window does.
func TestLoadServerEnds(t *testing.T) {
	var gone atomic.Bool
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var count atomic.Int64
	s := new(http.Server)
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if count.Add(1) == 600 { // three quarters of the window
			all.Go(func() { gone.Store(s.Close() == nil) })
		}
		hello(w, r, 0)
	})
	all.Go(func() { _ = s.Serve(ln) })
	t.Cleanup(func() { _ = s.Close(); all.Wait() })
	code, out, said := loadOf(t, t.Context(), "-c", "8", "-r", "400", "-d", "2s", "--warmup", "0", "--timeout", "3s", "--json", "-", "http://"+ln.Addr().String()+"/")
	d := documentOf(t, out)
	if o := d.Open; code != command.ExitInvalid || !gone.Load() || o == nil || o.Due != 800 || o.Due != d.Requests+o.Failed+o.Unfinished || o.Failed+o.Unfinished < 100 {
		t.Errorf("exit code %d, %d right, %+v; %s", code, d.Requests, o, said)
	}
	if want := float64(d.Open.Failed+d.Open.Unfinished) / 800; d.ErrorRatio != want {
		t.Errorf("error ratio %v, want %v", d.ErrorRatio, want)
	}
}

// TestLoadFailuresHaveNoMaximum does not keep a threshold on the mean or the maximum when
// requests have failed.
func TestLoadFailuresHaveNoMaximum(t *testing.T) {
	url, _ := serve(t, hangs(t, func(n int64) bool { return n%1000 == 20 }))
	_, out, said := loadOf(t, t.Context(), "-c", "8", "-d", pace.Window(time.Second).String(), "--warmup", "0", "--timeout", pace.Window(200*time.Millisecond).String(), "--allow-invalid",
		"--threshold", "max<1m,mean<1m,errors<50%", "--json", "-", url)
	d := documentOf(t, out)
	if kept := fmt.Sprint(d.Thresholds[0].Kept, d.Thresholds[1].Kept, d.Thresholds[2].Kept); len(d.Errors) == 0 || kept != "false false true" {
		t.Errorf("kept: %s, errors %v; %s", kept, d.Errors, said)
	}
}

// TestLoadKeepsInputs refuses to replace a file that the command reads.
func TestLoadKeepsInputs(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	const text = "targets: [{url: /a}]\n"
	for _, name := range []string{"in.yaml", "run.json"} {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("in.yaml", at("link")); err != nil {
		t.Fatal(err)
	}
	const url = "http://127.0.0.1:1/"
	for _, args := range [][]string{
		{"load", "--targets", at("in.yaml"), "--json", at("in.yaml"), url},
		{"load", "--targets", at("in.yaml"), "--html", at("link"), url},
		{"load", "--body-file", at("in.yaml"), "--csv", at("in.yaml"), url},
		{"report", "--html", at("run.json"), at("run.json")},
		{"compare", "--json", at("run.json"), at("run.json"), at("in.yaml")},
		{"import", "vegeta", at("in.yaml"), "--out", at("in.yaml")},
	} {
		code, said := stderrOf(t, args...)
		if code != 2 || !strings.Contains(said, "name another one") {
			t.Errorf("%v: exit code %d, %s", args[:2], code, said)
		}
	}
	if read(t, at("in.yaml")) != text || read(t, at("run.json")) != text {
		t.Error("an input was replaced")
	}
}

// TestErrorsHaveNoCredentials prints no credential in an error.
func TestErrorsHaveNoCredentials(t *testing.T) {
	url, _ := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int64) { w.WriteHeader(http.StatusNotFound) })
	for _, args := range [][]string{
		{url + "?token=s3cret&sig=s3cret"},
		{"http://ann:s3cret@127.0.0.1:1/?api_key=s3cret"},
		{"http://ann:s3cret@:x/"},
		{"-H", "Authorization Bearer s3cret", url},
		{"-H", "Authorization: s3cret\r\nA: b", url},
		{"--pprof", "http://ann:s3cret@127.0.0.1:1/debug/pprof", url},
		{"--check", "header X-Token equals s3cret", "--status", "404", url},
	} {
		code, out, said := loadOf(t, t.Context(), short(args...)...)
		if code == 0 || said == "" || strings.Contains(out+said, "s3cret") {
			t.Errorf("%q: exit code %d, %s", args, code, said)
		}
	}
}

// An interrupt before the load is reported as one, whatever step it ends.
func TestLoadInterruptedBefore(t *testing.T) {
	for name, waits := range map[string]string{"before the request": "", "request": "/hello", "export": "/v1/metrics"} {
		for kind, flags := range oneAndTwo {
			t.Run(name+" "+kind, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, n int64) {
					if r.URL.Path == waits {
						_, _ = io.Copy(io.Discard, r.Body) // the server sees the end of the client after the body
						cancel()
						<-r.Context().Done()
						return
					}
					hello(w, r, n)
				})
				if waits == "" {
					cancel()
				}
				args := append(slices.Clone(flags), "--export", "otlp="+strings.TrimSuffix(url, "/hello"), "--json", "-", url)
				code, out, said := loadOf(t, ctx, args...)
				if code != 130 || out != "" || said != "redline: interrupted before the load began\n" {
					t.Errorf("exit code %d, %q, %q", code, out, said)
				}
			})
		}
	}
}
