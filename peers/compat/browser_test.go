package compat_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/contrib/pushws"
	"github.com/redline-go/redline/push"
)

// socketsPage opens a WebSocket to each path of its query, by wss on its own connection's server, and
// reports what comes: an echo, or the first message of a hub.
const socketsPage = `<!doctype html><title>sockets</title><link rel=icon href="data:,"><script>
const play = (path) => new Promise((yes) => {
  const socket = new WebSocket("wss://" + location.host + path);
  let got = "";
  socket.onopen = () => { if (path.startsWith("/echo")) socket.send("hello"); };
  socket.onmessage = (e) => { got = e.data; socket.close(1000); };
  socket.onclose = (e) => yes([path, got || "closed with " + e.code]);
});
const paths = new URLSearchParams(location.search).getAll("path");
Promise.all(paths.map(play)).then((all) => fetch("/report", { method: "POST", body: JSON.stringify({
  page: performance.getEntriesByType("navigation")[0].nextHopProtocol, got: Object.fromEntries(all),
}) }));
</script>`

// A pageReport is what a page has found.
type pageReport struct {
	Page string            // the protocol of the page
	Got  map[string]string // by path
}

// TestWebSocketsInChromium has a browser, which has a connection of HTTP/2 to the server, open WebSockets
// by wss. Libraries that hijack serve them over HTTP/1.1, because the server does not announce
// extended CONNECT; that of the hub serves them over HTTP/2, too, if it does.
func TestWebSocketsInChromium(t *testing.T) {
	hub, err := push.New(push.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	for _, c := range []struct {
		name     string
		extended bool
		paths    []string
		proto    string // of the WebSockets
	}{
		{"by default", false, []string{"/echo/coder", "/echo/gorilla", "/push?topic=t"}, "HTTP/1.1"},
		{"extended CONNECT", true, []string{"/push?topic=t"}, "HTTP/2.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			reports, protos := make(chan pageReport, 1), make(chan string, len(c.paths))
			mux := http.NewServeMux()
			socket := func(path string, h http.Handler) {
				mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
					protos <- r.Proto
					h.ServeHTTP(w, r)
				})
			}
			socket("/echo/coder", http.HandlerFunc(coderEcho))
			socket("/echo/gorilla", http.HandlerFunc(gorillaEcho))
			socket("/push", pushws.Handler(hub.Handler(nil)))
			mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, socketsPage)
			})
			mux.HandleFunc("POST /report", func(_ http.ResponseWriter, r *http.Request) {
				var p pageReport
				if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
					t.Error(err)
				}
				reports <- p
			})
			addr := serveTLS(t, &redline.Server{Handler: mux, ExtendedConnect: c.extended})
			got := browse(t, fmt.Sprintf("https://%s/page?path=%s", addr, strings.Join(c.paths, "&path=")), reports)
			if got.Page != "h2" {
				t.Errorf("the page came by %q", got.Page)
			}
			for _, path := range c.paths {
				want := "hello"
				if strings.HasPrefix(path, "/push") {
					want = "hub:start"
				}
				if !strings.Contains(got.Got[path], want) {
					t.Errorf("%s: %q, want %q", path, got.Got[path], want)
				}
				if proto := <-protos; proto != c.proto {
					t.Errorf("a WebSocket came by %s, want %s", proto, c.proto)
				}
			}
		})
	}
}

// serveTLS serves until the end of the test.
func serveTLS(t *testing.T, s *redline.Server) (addr string) {
	t.Helper()
	certificate := httptest.NewTLSServer(nil)
	certificate.Close()
	s.TLSConfig = &tls.Config{Certificates: certificate.TLS.Certificates}
	s.Logger = slog.New(slog.DiscardHandler)
	at, err := s.ListenTLS("127.0.0.1:0", "", "")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Run() }()
	t.Cleanup(func() {
		_ = s.Close() // the browser was killed
		<-served
	})
	return at.String()
}

// browse has Chromium, or the browser that CHROMIUM names, open a page until it has reported.
func browse[T any](t *testing.T, url string, reports <-chan T) (report T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, cmp.Or(os.Getenv("CHROMIUM"), "chromium"), "--headless=new", "--no-sandbox", "--disable-gpu",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--ignore-certificate-errors", "--user-data-dir="+t.TempDir(), url)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, patience
	if err := cmd.Start(); err != nil {
		t.Fatalf("this test needs Chromium, which make test installs: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case report = <-reports:
		cancel()
		<-ended
	case err := <-ended:
		t.Fatalf("the browser ends: %v\n%.3000s", err, out.String())
	}
	return report
}
