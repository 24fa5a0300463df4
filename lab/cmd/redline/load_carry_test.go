package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redline-go/redline/lab/load/fleet/kube"
)

// everyFile is a scenario that refers to a file of each kind.
const everyFile = `
defaults: {think: "file:pause.txt"}
variables:
  user: {csv: users.csv}
  token: {jwt: {algorithm: HS256, key_file: key.txt, claims: {sub: redline}}}
targets:
  - {name: row, method: POST, url: /row, body: "${user.name}", think: "file:pause.txt"}
  - {name: file, method: POST, url: /file, body: {file: order.txt}}
  - {name: long, method: POST, url: /long, body: {file: long.txt}}
  - {name: template, method: POST, url: /template, body: {file: order.tmpl, template: true}}
  - {name: token, url: /token, headers: {Authorization: "Bearer ${token}"}}
`

// filesHere writes the files of the tests into a directory, and changes to it.
func filesHere(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"shop.yaml": everyFile, "users.csv": "name\nalice\n", "key.txt": "not-to-be-told", "order.txt": "one of these",
		"order.tmpl": "for ${user.name}", "long.txt": strings.Repeat("x", 100<<10), "pause.txt": "1ms\n", "think.txt": "2ms\n",
		"targets.txt": "POST /file\n@order.txt\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// rightFiles reports whether a request has the content of the files.
func rightFiles(r *http.Request) bool {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return false
	}
	switch r.URL.Path {
	case "/row":
		return string(body) == "alice"
	case "/file":
		return string(body) == "one of these"
	case "/long":
		return string(body) == strings.Repeat("x", 100<<10)
	case "/template":
		return string(body) == "for alice"
	case "/token":
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		at := max(strings.LastIndexByte(token, '.'), 0)
		h := hmac.New(sha256.New, []byte("not-to-be-told"))
		h.Write([]byte(token[:at]))
		return "."+base64.RawURLEncoding.EncodeToString(h.Sum(nil)) == token[at:]
	}
	return r.URL.Path == "/hello" && len(body) == 0
}

// TestLoadBusCarries sends all files of the command line to workers that do not have them.
func TestLoadBusCarries(t *testing.T) {
	var wrong, right atomic.Int64
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !rightFiles(r) {
			wrong.Add(1)
			return
		}
		right.Add(1)
		hello(w, r, 0)
	})
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	filesHere(t)
	if err := os.WriteFile("ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"think":        {"--think", "file:think.txt", plain.URL + "/hello"},
		"body":         {"--body-file", "order.txt", plain.URL + "/file"},
		"long body":    {"--body-file", "long.txt", plain.URL + "/long"},
		"scenario":     {"--targets", "shop.yaml", "--think", "file:think.txt", plain.URL},
		"vegeta":       {"--targets", "targets.txt", "--think", "file:think.txt", plain.URL},
		"certificates": {"--ca", "ca.pem", "--think", "file:think.txt", secure.URL + "/hello"},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "scenario" {
				once(t)
			}
			wrong.Store(0)
			right.Store(0)
			where, workers := abroad(t, 1)
			code, out, said := coordinatorOf(t, append([]string{
				"load", "--bus", where, "-c", "2", "-n", "20", "--allow-invalid", "--json", "-",
			}, args...))
			ended(t, workers)
			if code != 0 {
				t.Fatalf("exit code %d, %s", code, said)
			}
			if d := documentOf(t, out); d.Requests == 0 || len(d.Errors) > 0 || wrong.Load() > 0 || right.Load() == 0 {
				t.Errorf("%d requests, errors %v; the server had %d right and %d wrong, %s", d.Requests, d.Errors, right.Load(), wrong.Load(), said)
			}
		})
	}
}

// TestLoadBusTooLarge refuses files that are too large for the bus before workers join.
func TestLoadBusTooLarge(t *testing.T) {
	url, _ := serve(t, hello)
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, make([]byte, 9<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, said := loadOf(t, t.Context(), "--bus", "listen:127.0.0.1:0", "--chunked", "--body-file", large, "-X", "PUT", url)
	if code != 2 || out != "" || !strings.Contains(said, "use smaller files, or --upload SIZE") {
		t.Errorf("exit code %d, %q, %s", code, out, said)
	}
}

// TestLoadKubernetesCarries mounts all files in the coordinator's pod.
func TestLoadKubernetesCarries(t *testing.T) {
	filesHere(t)
	code, out, said := loadOf(t, t.Context(), "--kubernetes", "--image", "x", "--targets", "shop.yaml", "--think", "file:think.txt", "http://server/")
	if code != 0 || said != "" {
		t.Fatalf("exit code %d, %s", code, said)
	}
	c := parse(t, []byte(out))
	for _, name := range []string{"shop.yaml", "users.csv", "key.txt", "order.txt", "order.tmpl", "long.txt", "pause.txt", "think.txt"} {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if data, err := base64.StdEncoding.DecodeString(c["ConfigMap"].BinaryData[name]); err != nil || string(data) != string(want) {
			t.Errorf("%s: %.40q, %v", name, data, err)
		}
	}
	args := strings.Join(c["coordinator"].Spec.Template.Spec.Containers[0].Args, " ")
	for _, want := range []string{"--targets=" + kube.FilesDir + "/shop.yaml", "--think=file:" + kube.FilesDir + "/think.txt"} {
		if !strings.Contains(args, want) {
			t.Errorf("arguments %q do not contain %q", args, want)
		}
	}
	// A distribution without a file is unchanged. One file may be named twice, but two
	// files must not have the same name.
	for think, want := range map[string]struct {
		code int
		text string
	}{
		"uniform:1s,3s": {0, "--think=uniform:1s,3s"}, "file:pause.txt": {0, "--think=file:" + kube.FilesDir + "/pause.txt"},
		"file:other/pause.txt": {2, "two files are called pause.txt"},
	} {
		if err := os.MkdirAll("other", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("other/pause.txt", []byte("3ms\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, said := loadOf(t, t.Context(), "--kubernetes", "--image", "x", "--targets", "shop.yaml", "--think", think, "http://server/")
		if code != want.code || !strings.Contains(out+said, want.text) {
			t.Errorf("--think %s: exit code %d, %.300s %s", think, code, out, said)
		}
	}
}
