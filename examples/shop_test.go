//go:build unix

package examples_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
)

// The shop's steps need what the ones before them gave; loads are what the lab's
// tests of docs/load.md make of it.
func TestShop(t *testing.T) {
	x := start(t, "shop", "-tls", "127.0.0.1:0")
	const json = "application/json"
	for _, step := range []struct{ method, path, body, want string }{
		{"GET", "/", "", "200 welcome\n"},
		{"GET", "/health", "", `200 {"state": "ok"}` + "\n"},
		{"GET", "/v2/items/7", "", `200 {"id": 7}` + "\n"},
		{"GET", "/items/seven", "", "404 an item's ID is a number\n"},
		{"POST", "/orders", `{"item": 7}`, `201 {"order": 1}` + "\n"},
		{"POST", "/orders", "7", "400 an order is JSON with an item\n"},
		{"GET", "/orders", "", `200 {"orders": 1}` + "\n"},
		{"POST", "/login", "{}", `200 {"access_token": "let-me-in"}` + "\n"},
		{"PUT", "/cart", "{}", "401 log in first\n"},
		{"PUT", "/files/a", strings.Repeat("x", 1<<20), `201 {"state": "stored"}` + "\n"},
		{"GET", "/stream?interval=soon", "", "400 an interval is a time from 1ms up\n"},
		{"GET", "/nowhere", "", "404 404 page not found\n"},
	} {
		if got := do(t, step.method, x.url+step.path, json, step.body); got != step.want {
			t.Errorf("%s %s: %q, want %q", step.method, step.path, got, step.want)
		}
	}
	for path, want := range map[string]string{"/stream": "id: 1\n", "/events": "id: 1\n", "/feed": `{"seq": 1, "meta": {"at": `, "/records": "\n" + `{"seq": 1}`} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, x.url+path+"?interval=1ms", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client(t).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := bufio.NewReader(resp.Body).Peek(len(want))
		if err != nil || string(got) != want {
			t.Errorf("%s begins with %q, %v; want %q", path, got, err, want)
		}
		resp.Body.Close()
	}
	if got := do(t, "GET", x.url+"/ca", json, ""); !strings.HasPrefix(got, "200 -----BEGIN CERTIFICATE-----\n") {
		t.Errorf("certificate %q", got)
	}
}
