package conformance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// blob writes 5 MiB that differ everywhere to a file and returns its name.
func (t *trial) blob() (name string, data []byte) {
	t.Helper()
	for i := 0; len(data) < 5<<20; i++ {
		data = fmt.Appendf(data, "%d,", i)
	}
	data, name = data[:5<<20], filepath.Join(t.TempDir(), "blob")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name, data
}

// sub runs a case.
func (t *trial) sub(name string, f func(*trial)) {
	t.Run(name, func(st *testing.T) {
		c := *t
		c.T, c.id = st, strings.ReplaceAll(st.Name(), "/", "-")
		f(&c)
	})
}

// same compares what came back with what was expected.
func (t *trial) same(got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got %d bytes, %.200q; want %d, %.200q", len(got), got, len(want), want)
	}
}

// curl has curl do the scenario, with a flag for the version of HTTP. Full duplex is not part
// of it: curl 7.88 with -T . shows nothing before its input ends, whatever the server.
func (t *trial) curl(proto, version string) {
	t.Log(t.output("curl", "--version"))
	flags := []string{"-sS", "--fail", version, "--cacert", t.ca, "--max-time", "60"}
	with := func(args ...string) []string { return append(append([]string(nil), flags...), args...) }
	t.sub("get", func(t *trial) { t.same(t.output("curl", with(t.base+"/hello")...), proto) })
	t.sub("post", func(t *trial) {
		name, data := t.blob()
		out := filepath.Join(t.TempDir(), "out")
		t.output("curl", with("--data-binary", "@"+name, "-o", out, t.base+"/echo")...)
		got, err := os.ReadFile(out)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes came back, %v", len(got), err)
		}
	})
	secure := strings.HasPrefix(t.base, "https")
	if secure { // in clear, curl 7.88 fails with error 16 at a connection's second request, whatever the server
		t.sub("many", func(t *trial) {
			out, err := t.command("curl", with("-Z", "--parallel-max", "50", t.base+"/small/[100-299]?id="+t.id)...).Output()
			if err != nil || len(out) != 600 {
				t.Errorf("%d bytes came back, %v: %.100q", len(out), err, out)
			}
			t.Logf("%d connections", t.s.count(t.id))
		})
	}
	t.sub("stream", func(t *trial) {
		t.follow(t.command("curl", with("-N", t.base+"/stream?id="+t.id)...), t.step)
	})
	t.sub("trailers", func(t *trial) { // curl prints those of responses with the header, and sends none
		out := t.output("curl", with("-i", "--data-binary", "12345", t.base+"/trailers")...)
		if low := strings.ToLower(out); !strings.Contains(low, "x-length: 5") {
			t.Errorf("no trailer in %q", out)
		}
	})
	if secure {
		t.sub("ca", func(t *trial) {
			out, err := t.command("curl", "-sS", version, t.base+"/hello").CombinedOutput()
			if err == nil || !strings.Contains(string(out), "certificate") {
				t.Errorf("without the authority: %v, %s", err, out)
			}
		})
	}
}

// step lets the stream go on when a part has been read.
func (t *trial) step(n int, line string) {
	t.same(line, fmt.Sprintf("part %d", n-1))
	t.s.next(t.id)
}

// nghttp has nghttp do the scenario. It reads its input to the end before it sends anything,
// holds its output back in a pipe, and only warns of certificates, of which it knows no addresses.
func (t *trial) nghttp() {
	t.base = strings.Replace(t.base, "127.0.0.1", "localhost", 1)
	t.Log(t.output("nghttp", "--version"))
	t.Setenv("SSL_CERT_FILE", t.ca)
	t.sub("get", func(t *trial) { t.same(t.output("nghttp", t.base+"/hello"), "HTTP/2.0") })
	t.sub("post", func(t *trial) {
		name, data := t.blob()
		t.same(t.output("nghttp", "-d", name, "-H:method: POST", t.base+"/echo"), string(data))
	})
	t.sub("many", func(t *trial) {
		t.same(t.output("nghttp", "-m", "200", t.base+"/small/7?id="+t.id), strings.Repeat("7", 200))
		if n := t.s.count(t.id); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
	t.sub("trailers", func(t *trial) {
		name, _ := t.blob()
		out := t.output("nghttp", "-nv", "-d", name, "--trailer", "x-client: here", t.base+"/trailers")
		for _, want := range []string{"x-length: 5242880", "x-back: here"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in the output: %.3000s", want, out[max(0, len(out)-3000):])
			}
		}
	})
	t.sub("ca", func(t *trial) {
		t.Setenv("SSL_CERT_FILE", os.DevNull)
		if out := t.output("nghttp", t.base+"/hello"); !strings.Contains(out, "Certificate verification failed") {
			t.Errorf("no warning without the authority: %s", out)
		}
	})
}

// h2load has h2load send many requests, and some large ones. It checks no certificates.
func (t *trial) h2load(flags ...string) {
	t.Log(t.output("h2load", "--version"))
	for _, c := range []struct{ name, n, path string }{{"many", "2000", "/small/1"}, {"post", "8", "/echo"}} {
		t.sub(c.name, func(t *trial) {
			args := append([]string{"-n", c.n, "-c", "4", "-m", "50"}, flags...)
			if c.name == "post" {
				name, _ := t.blob()
				args = append(args, "-d", name)
			}
			out := t.output("h2load", append(args, t.base+c.path)...)
			if !strings.Contains(out, fmt.Sprintf("%[1]s succeeded, 0 failed, 0 errored, 0 timeout", c.n)) ||
				!strings.Contains(out, fmt.Sprintf("status codes: %s 2xx", c.n)) {
				t.Error(out)
			}
		})
	}
}
