package redline_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// fetch sends a request as it is and returns the answer with its body read.
func fetch(t *testing.T, r *running, method, target string, lines ...string) (*http.Response, string) {
	t.Helper()
	return submit(t, r, method, target, "", lines...)
}

// submit is fetch with content.
func submit(t *testing.T, r *running, method, target, content string, lines ...string) (*http.Response, string) {
	t.Helper()
	c := r.dial()
	defer c.Close()
	var b strings.Builder
	b.WriteString(method + " " + target + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n")
	for _, l := range lines {
		b.WriteString(l + "\r\n")
	}
	c.send("%s", b.String()+"\r\n"+content)
	resp := c.responseTo(method)
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: body: %v", method, target, err)
	}
	return resp, string(body)
}

// tree writes files into a new directory and returns it, opened.
func tree(t *testing.T, files map[string]string) (dir string, root *os.Root) {
	t.Helper()
	dir = t.TempDir()
	at := time.Date(2025, 6, 1, 12, 0, 0, 123456789, time.UTC)
	for name, content := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return dir, root
}

// mount returns a router with a file server below /s/.
func mount(root *os.Root, o redline.FileOptions) redline.HandlerFunc {
	r := redline.NewRouter()
	r.Handle("", "/s/{path...}", redline.FileServer(root, o))
	return r.Serve
}

// pattern is n bytes that differ from place to place.
func pattern(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString("line ")
		b.WriteByte(byte('a' + i%26))
		b.WriteByte(byte('a' + i/26%26))
		b.WriteByte(byte('a' + i/676%26))
		b.WriteByte('\n')
	}
	return b.String()[:n]
}
