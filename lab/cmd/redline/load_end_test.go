package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What was measured before a server fell silent is not thrown away with the run.
func TestLoadGivenUp(t *testing.T) {
	for name, flags := range oneAndTwo {
		t.Run(name, func(t *testing.T) {
			done := make(chan struct{})
			url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, n int64) {
				if n > 160 {
					<-done
				}
				hello(w, r, n)
			})
			t.Cleanup(func() { close(done) }) // before the server closes
			file := filepath.Join(t.TempDir(), "result.json")
			code, out, said := loadOf(t, t.Context(), append(flags, "-r", "100", "-d", "60s", "--warmup", "0", "--timeout", "3s", "--json", file, url)...)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err, said)
			}
			d := documentOf(t, string(text))
			if code != 1 || !strings.Contains(d.Partial, "given up after") || d.Valid || d.Requests == 0 || d.Seconds >= 60 {
				t.Errorf("exit code %d, partial %q, %d requests in %v s", code, d.Partial, d.Requests, d.Seconds)
			}
			if !strings.Contains(out, "the run was given up after ") || !strings.Contains(said, "no right answer for ") {
				t.Errorf("%s%s", out, said)
			}
		})
	}
}
