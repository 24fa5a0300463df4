package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// serveUnix is a server of this process on a Unix socket, at a path that is short enough or at
// an abstract name.
func serveUnix(t *testing.T, abstract, secure bool, handler http.HandlerFunc) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "redline")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if socket = filepath.Join(dir, "app.sock"); abstract {
		socket = "@redline-test-" + filepath.Base(dir)
	}
	s := httptest.NewUnstartedServer(handler)
	_ = s.Listener.Close()
	if s.Listener, err = net.Listen("unix", socket); err != nil {
		t.Fatal(err)
	}
	s.EnableHTTP2 = secure
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetHTTP2(secure)
	s.Config.Protocols.SetUnencryptedHTTP2(!secure)
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return socket
}

func TestLoadUnix(t *testing.T) {
	mix := filepath.Join(t.TempDir(), "mix.yaml")
	if err := os.WriteFile(mix, []byte("base: http://app\ntargets: [{url: '/${n}'}]\nvariables: {n: {counter: 1}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, secure := range []bool{false, true} {
		var count, wrong atomic.Int64
		scheme := map[bool]string{true: "https", false: "http"}[secure]
		socket := serveUnix(t, secure, secure, func(w http.ResponseWriter, r *http.Request) {
			if count.Add(1); r.Host != "app" || (r.TLS != nil) != secure {
				wrong.Add(1)
			}
			_, _ = io.WriteString(w, "hello")
		})
		for _, more := range [][]string{
			nil, {"--http2", "--streams", "3"}, {"--pipeline", "4"}, {"--workers", "2"}, {"-r", "200"}, {"--requests-per-connection", "3"}, {"--targets", mix},
		} {
			t.Run(fmt.Sprint(scheme, more), func(t *testing.T) {
				args := append([]string{"-n", "200", "-c", "3", "--allow-invalid", "--json", "-", "--unix", socket}, more...)
				if secure {
					args = append(args, "--insecure")
				}
				count.Store(0)
				code, out, said := loadOf(t, t.Context(), append(args, scheme+"://app")...)
				if code != 0 {
					t.Fatalf("exit code %d: %s", code, said)
				}
				d := documentOf(t, out)
				asked := int64(201)
				if slices.Contains(more, mix) {
					asked = 200
				}
				if len(d.Errors) > 0 || count.Load() != asked || wrong.Load() > 0 {
					t.Errorf("%d right, %v; the server saw %d, %d of them wrong", d.Requests, d.Errors, count.Load(), wrong.Load())
				}
				if d.Server == nil || !slices.Contains(d.Server.PIDs, os.Getpid()) || d.Config.Unix != socket {
					t.Errorf("server %+v, config %+v", d.Server, d.Config)
				}
				if !strings.Contains(strings.Join(strings.Fields(said), " "), "over the socket "+socket) {
					t.Errorf("the summary does not name the socket: %s", said)
				}
			})
		}
	}
}

func TestLoadUnixStream(t *testing.T) {
	socket := serveUnix(t, false, false, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for id := 1; r.Context().Err() == nil; id++ {
			fmt.Fprintf(w, "id: %d\ndata: x\n\n", id)
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	})
	code, out, said := loadOf(t, t.Context(), short("--sse", "--unix", socket, "--json", "-", "http://app/events")...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	if d := documentOf(t, out); d.Requests == 0 || len(d.Errors) > 0 {
		t.Errorf("%d events, errors %v", d.Requests, d.Errors)
	}
}

func TestLoadUnixUsage(t *testing.T) {
	const url = "http://app/"
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--unix", ""}, 2, "--unix: name a Unix socket, as /run/app.sock, or @app for an abstract one"},
		{[]string{"--unix", "@"}, 2, "--unix: name a Unix socket"},
		{[]string{"--unix", "/" + strings.Repeat("x", 107)}, 2, "has 108 bytes, and 107 are possible"},
		{[]string{"--unix", "/run/app.sock", "--sources", "127.0.0.2"}, 2, "leave out --sources or --unix"},
		{[]string{"--unix", "/run/app.sock", "--bus", "listen:127.0.0.1:0"}, 2, "--unix is a socket of this machine"},
		{[]string{"--unix", "/run/app.sock", "--kubernetes", "--image", "x"}, 2, "--unix is a socket of this machine"},
		{[]string{"--unix", "/absent/app.sock"}, 1, "/absent/app.sock: connect: no such file or directory"},
	} {
		if code, _, said := loadOf(t, t.Context(), append(c.args, url)...); code != c.code || !strings.Contains(said, c.want) {
			t.Errorf("%q: exit code %d, %q", c.args, code, said)
		}
	}
}
