package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redline-go/redline/lab/load/command"
)

// A try sends each request once, in the order of the file, and shows it.
func TestLoadTry(t *testing.T) {
	var seen sync.Map
	var carts atomic.Int64
	url, count := serve(t, keeper(&seen, &carts))
	base := strings.TrimSuffix(url, "/hello") + "/shop"
	code, out, said := loadOf(t, t.Context(), "--try", "--targets", textFile(t, "shop.yaml", shop), "-H", "X-Run: 7", base)
	if code != 0 || said != "" || count.Load() != 4 {
		t.Errorf("exit code %d after %d requests, %s%s", code, count.Load(), out, said)
	}
	at := 0
	for _, want := range []string{
		"setup/login\n  > POST /shop/login HTTP/1.1\n", "  > X-Run: 7\n", "\n  > 1\n  < 200 OK\n", "  < {\"token\": \"t\"}\n  = right\n\nhome\n",
		"buy/cart\n", "  < X-Cart: 1\n", "buy/pay\n  > POST /shop/carts/1 HTTP/1.1\n", "  > Authorization: Bearer t\n", "  = right\n\nright: 4 of 4\n",
	} {
		i := strings.Index(out[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing or out of order in\n%s", want, out)
		}
		at += i
	}
}

func TestLoadTryFails(t *testing.T) {
	url, count := serve(t, func(w http.ResponseWriter, r *http.Request, _ int64) {
		switch r.URL.Path {
		case "/login":
			w.WriteHeader(http.StatusForbidden)
		case "/binary":
			_, _ = w.Write([]byte{0xff, 0xfe, 0})
		default:
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, strings.Repeat("é", 1500))
		}
	})
	base := strings.TrimSuffix(url, "/hello")
	login := "setup: [{name: login, method: POST, url: /login, captures: {token: {json: $.token}}}]\ntargets: [{url: /}]\n"
	code, out, said := loadOf(t, t.Context(), "--try", "--targets", textFile(t, "s.yaml", login), base)
	if code != command.ExitBroken || !strings.Contains(out, "  < 403 Forbidden\n") || !strings.Contains(out, "  = FAILED: status 2xx, 3xx\n\nright: 0 of 2; never reached: 1\n") || count.Load() != 1 {
		t.Errorf("exit code %d after %d requests, %s%s", code, count.Load(), out, said)
	}
	code, out, _ = loadOf(t, t.Context(), "--try", "--check", "body equals x", "--upload", "100KB", url)
	for _, want := range []string{"  > (100000 bytes that are not text)\n", fmt.Sprintf("é\n  < (%d bytes more)\n", 3000-2048), "  = FAILED: body equals x\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in %s", want, out)
		}
	}
	if code != command.ExitBroken {
		t.Errorf("exit code %d", code)
	}
	code, out, _ = loadOf(t, t.Context(), "--try", "--upload", "17MiB", url)
	if code != 0 || !strings.Contains(out, "  = not tried: its body has 17.0 MiB, more than 16.0 MiB\n") {
		t.Errorf("exit code %d, %s", code, out)
	}
	code, out, _ = loadOf(t, t.Context(), "--try", base+"/binary")
	if code != 0 || !strings.Contains(out, "  < (3 bytes that are not text)\n  = right\n\nright: 1 of 1\n") {
		t.Errorf("exit code %d, %s", code, out)
	}
	code, out, _ = loadOf(t, t.Context(), "--try", "http://127.0.0.1:1/")
	if code != command.ExitBroken || !strings.Contains(out, "connection refused\n\nright: 0 of 1\n") {
		t.Errorf("exit code %d, %s", code, out)
	}
}
