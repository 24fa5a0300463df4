package acme

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestConfigErrors(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	open := filepath.Join(t.TempDir(), "open")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		hosts     []string
		dir, want string
	}{
		{nil, dir, "no hosts"},
		{[]string{"example.org", "*.example.org"}, dir, "wildcard"},
		{[]string{"192.0.2.1"}, dir, "not an address"},
		{[]string{"[2001:db8::1]"}, dir, "not an address"},
		{[]string{"example.org:443"}, dir, "without scheme, port"},
		{[]string{"https://example.org"}, dir, "without scheme"},
		{[]string{"localhost"}, dir, "full name"},
		{[]string{""}, dir, "full name"},
		{[]string{"example.org"}, "", "no directory"},
		{[]string{"example.org"}, open, "mode 0755"},
		{[]string{"example.org"}, file, file},
	} {
		_, _, err := Config(c.hosts, c.dir)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "acme: ") {
			t.Errorf("hosts %q, directory %q: error %v, want one about %q", c.hosts, c.dir, err, c.want)
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Error("the directory was made in spite of an error")
	}
	config, _, err := Config([]string{"example.org"}, dir)
	if err != nil || !slices.Equal(config.NextProtos, []string{"acme-tls/1"}) {
		t.Errorf("%v, %v", config, err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory has mode %v, %v", info.Mode(), err)
	}
}

// TestChallenges asks the wrapped handler for what is not a challenge in progress.
func TestChallenges(t *testing.T) {
	_, challenges, err := Config([]string{"example.org"}, filepath.Join(t.TempDir(), "dir"))
	if err != nil {
		t.Fatal(err)
	}
	own := challenges(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "own") }))
	for _, c := range []struct {
		handler  http.Handler
		url      string
		code     int
		contains string
	}{
		{own, "http://example.org/", 200, "own"},
		{own, "http://other.org/", 200, "own"},
		{own, "http://other.org/.well-known/acme-challenge/x", 403, "not configured"},
		{own, "http://example.org/.well-known/acme-challenge/x", 404, ""},
		{own, "http://example.org:8080/.well-known/acme-challenge/x", 404, ""},
		{challenges(nil), "http://example.org/a?b", 302, "https://example.org/a?b"},
	} {
		w := httptest.NewRecorder()
		c.handler.ServeHTTP(w, httptest.NewRequest("GET", c.url, nil))
		if body := w.Body.String() + w.Header().Get("Location"); w.Code != c.code || !strings.Contains(body, c.contains) {
			t.Errorf("GET %s: %d %q, want %d %q", c.url, w.Code, body, c.code, c.contains)
		}
	}
}
