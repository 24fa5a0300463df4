package suite

import (
	"crypto/tls"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/internal/pace"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
)

func TestWorkloadsOverTLS(t *testing.T) {
	for _, test := range []struct {
		name                 string
		http2, fresh, resume bool
		connections, streams int
		unit                 string
	}{
		{"tls", false, false, false, 0, 0, "request"},
		{"tls-at25", false, false, false, 0, 0, "request"},
		{"tls-resume", false, true, true, 0, 0, "handshake"},
		{"tls-full", false, true, false, 0, 0, "handshake"},
		{"h2", true, false, false, 0, 1, "request"},
		{"h2-m32", true, false, false, 16, 32, "request"},
		{"h2-upload", true, false, false, 8, 1, "request"},
		{"h2-download", true, false, false, 8, 1, "request"},
		{"h2-stream", true, false, false, 50, 100, "event"},
	} {
		w := findWorkload(test.name)
		if w == nil || w.secure == nil {
			t.Errorf("%s is %+v", test.name, w)
			continue
		}
		got := *w.secure
		if want := (secure{http2: test.http2, streams: test.streams, fresh: test.fresh, resume: test.resume}); got != want || w.connections != test.connections || w.floor {
			t.Errorf("%s: %+v with %d connections, want %+v with %d", test.name, got, w.connections, want, test.connections)
		}
		if d := w.describe(1); d.Unit != test.unit || d.Streams != test.streams || strings.Contains(d.Protocol, "HTTP/2") != test.http2 || d.Lead != results.MetricCPU {
			t.Errorf("%s: %+v", test.name, d)
		}
		b := &bench{tmp: t.TempDir()}
		o := &spec.Spec{}
		if err := b.secureOrder(o, w); err != nil {
			t.Fatal(err)
		}
		if o.TLS == nil || o.TLS.Insecure || len(o.TLS.Roots) == 0 || o.TLS.Resume != test.resume || o.HTTP2 != test.http2 || o.Streams != test.streams || (o.PerConnection == 1) != test.fresh {
			t.Errorf("%s: load %+v, TLS %+v", test.name, o, o.TLS)
		}
	}
}

// TestWhoSpeaksTLS checks which subjects serve the workloads over TLS.
func TestWhoSpeaksTLS(t *testing.T) {
	peer := func(name string) Subject { return Subject{Name: name, URL: "http://{addr}", control: true} }
	for _, test := range []struct {
		subject         Subject
		plain, tls, h2s bool
	}{
		{peer("nethttp"), true, true, true},
		{peer("fasthttp"), true, true, false},
		{peer(floorName), true, false, false},
		{Subject{Name: "a", URL: "http://{addr}", Command: []string{"a"}}, true, false, false},
		{Subject{Name: "a", URL: "http://{addr}", Command: []string{"a", "{cert}"}}, true, true, true},
		{Subject{Name: "a", URL: "https://{addr}", Command: []string{"a"}, Files: map[string]string{"c": "{cert}"}}, false, true, true},
		{Subject{Name: "a", URL: "http://{addr}", Command: []string{"a", "{cert}"}, Workloads: []string{"https"}}, false, true, false},
	} {
		for name, want := range map[string]bool{"plaintext": test.plain, "tls": test.tls, "h2": test.h2s} {
			if got := test.subject.serves(findWorkload(name)); got != want {
				t.Errorf("%+v serves %s: %v, want %v", test.subject, name, got, want)
			}
		}
	}
}

func TestHandshakesAreChecked(t *testing.T) {
	good := spec.TLSResult{Handshakes: 100, Version: "TLS 1.3", Cipher: "TLS_AES_128_GCM_SHA256", Curve: "X25519"}
	with := func(change func(*spec.TLSResult)) *spec.TLSResult {
		r := good
		change(&r)
		return &r
	}
	for _, test := range []struct {
		workload string
		result   *spec.TLSResult
		wrong    string
		failed   bool
	}{
		{"plaintext", nil, "", false},
		{"tls", &good, "", false},
		{"tls", nil, "no TLS handshake", false},
		{"h2", with(func(r *spec.TLSResult) { r.Cipher = "TLS_AES_256_GCM_SHA384" }), "TLS_AES_256_GCM_SHA384", false},
		{"tls-full", with(func(r *spec.TLSResult) { r.Curve = tls.CurveP256.String() }), "CurveP256", false},
		{"tls-full", &good, "", false},
		{"tls-full", with(func(r *spec.TLSResult) { r.Resumed = 1 }), "", true},
		{"tls-resume", &good, "", true},
		{"tls-resume", with(func(r *spec.TLSResult) { r.Resumed = 90 }), "", false},
		{"tls-resume", with(func(r *spec.TLSResult) { r.Resumed = 80 }), "", true},
	} {
		gates, err := findWorkload(test.workload).checkHandshakes(test.result, 10)
		if (err != nil) != (test.wrong != "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%s, %+v: %v, want %q", test.workload, test.result, err, test.wrong)
		}
		if failed := !results.Valid(gates); failed != test.failed {
			t.Errorf("%s, %+v: gates %+v", test.workload, test.result, gates)
		}
	}
}

// TestBenchMeasuresOverTLS runs every workload over TLS on the subject nethttp, and fasthttp
// beside it, which has no HTTP/2. compareNow checks that the certificate is removed.
func TestBenchMeasuresOverTLS(t *testing.T) {
	once(t)
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	cfg := configOf(t, "nethttp", "fasthttp")
	cfg.Workloads = slices.DeleteFunc(slices.Concat(httpsNames, http2Names), func(name string) bool { return slices.Contains(large, name) })
	cfg.Window = pace.Window(300 * time.Millisecond)
	f := compareSome(t, cfg, &Catalogue{root: root, external: map[string]*Subject{}, kept: kept}, 1)
	checkRuns(t, f)
	for _, w := range f.Workloads {
		if absent, want := slices.Contains(w.NotServed, "fasthttp"), strings.HasPrefix(w.Name, "h2"); absent != want {
			t.Errorf("%s is not served by %v", w.Name, w.NotServed)
		}
	}
	if c := f.CeilingTLS; c == nil || c.Subject != "nethttp" || c.Rate <= 0 || f.Ceiling != nil {
		t.Errorf("ceilings %+v and %+v", c, f.Ceiling)
	}
}

// large are the workloads of 10 MiB: a short window on 8 connections would see none end.
var large = []string{"h2-upload", "h2-download"}

// TestBenchMeasuresLargeBodies runs them on one connection.
func TestBenchMeasuresLargeBodies(t *testing.T) {
	once(t)
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	cfg := configOf(t, "nethttp")
	cfg.Workloads, cfg.Connections, cfg.ConnectionsSet = large, 1, true
	cfg.Window = pace.Window(time.Second)
	f := compareSome(t, cfg, &Catalogue{root: root, external: map[string]*Subject{}, kept: kept}, 1)
	checkRuns(t, f)
}

// checkRuns wants every run to have been measured.
func checkRuns(t *testing.T, f *results.File) {
	t.Helper()
	for _, r := range f.Runs {
		if r.Failed != "" || r.Requests == 0 || results.CountErrors(r.Errors) > 0 || r.CPU.PerRequestUs <= 0 {
			t.Errorf("%s: failed %q, %d requests, errors %v, CPU %+v\n%s", r.ID, r.Failed, r.Requests, r.Errors, r.CPU, r.Stderr)
		}
		for _, g := range r.Gates {
			if g.Name == "resumed" && !g.Passed {
				t.Errorf("%s: %s", r.ID, g.Text)
			}
		}
	}
}

// TestForeignServersOverTLS checks nginx and h2o with their configurations for TLS.
func TestForeignServersOverTLS(t *testing.T) {
	once(t)
	for _, program := range []string{"nginx", "h2o"} {
		t.Run(program, func(t *testing.T) {
			if _, err := exec.LookPath(program); err != nil {
				t.Skip(err)
			}
			name := program + "-tls"
			b, c := benchOf(t, name, filepath.Join(examples, "..", name+".yaml"))
			for _, dir := range []string{b.tmp, filepath.Dir(b.tmp)} { // nginx reads it as another user
				if err := os.Chmod(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			s := b.subjects[0]
			if err := c.prepare(t.Context(), s, b.tmp); err != nil {
				t.Fatal(err)
			}
			if err := b.sameWork(t.Context(), s, b.loads); err != nil {
				t.Fatal(err)
			}
			if len(b.loads) != 6 || len(b.answers) != 6 {
				t.Errorf("%d workloads, responses %v", len(b.loads), b.answers)
			}
		})
	}
}
