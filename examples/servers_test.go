//go:build unix

package examples_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
)

// onServers runs a test of an example that runs on either server.
func onServers(t *testing.T, name string, test func(t *testing.T, x example)) {
	for _, server := range []string{"net/http", "redline"} {
		t.Run(server, func(t *testing.T) {
			test(t, start(t, name, "-server", server))
		})
	}
}

// do sends a request and returns the answer as one text: status, then body.
func do(t *testing.T, method, url, contentType, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, b)
}

func TestChi(t *testing.T) {
	onServers(t, "chi", func(t *testing.T, x example) {
		url := x.url
		const json = "application/json"
		for _, step := range []struct{ method, path, contentType, body, want string }{
			{"GET", "/notes", "", "", "200 []"},
			{"POST", "/notes", json, `{"text":"buy milk"}`, `201 {"id":1,"text":"buy milk"}`},
			{"POST", "/notes/", json, `{"text":"and tea"}`, `201 {"id":2,"text":"and tea"}`},
			{"GET", "/notes/1", "", "", `200 {"id":1,"text":"buy milk"}`},
			{"DELETE", "/notes/1", "", "", "204 "},
			{"GET", "/notes", "", "", `200 [{"id":2,"text":"and tea"}]`},
			{"GET", "/notes/1", "", "", "404 no such note\n"},
			{"GET", "/notes/one", "", "", "400 a note's ID is a number\n"},
			{"PUT", "/notes/1", json, "{}", "405 "},
			{"POST", "/notes", "text/plain", "x", "415 "},
			{"POST", "/notes", json, `{"text":"` + strings.Repeat("x", 65<<10) + `"}`, "400 http: request body too large\n"},
		} {
			if got := do(t, step.method, url+step.path, step.contentType, step.body); got != step.want {
				t.Errorf("%s %s is answered %q, want %q", step.method, step.path, got, step.want)
			}
		}
	})
}

func TestSSE(t *testing.T) {
	onServers(t, "sse", func(t *testing.T, x example) {
		url := x.url
		say := func(text string) {
			t.Helper()
			if got := do(t, "POST", url+"/say", "text/plain", text); got != "204 " {
				t.Errorf("saying %q is answered %q", text, got)
			}
		}
		say("nobody hears this")
		listeners := []*listener{listen(t, url, ""), listen(t, url, "")}
		// Each event comes before the next is said.
		for i, text := range []string{"hello", "two\nlines", ""} {
			say(text)
			want := fmt.Sprintf("id: %d\ndata: %s\n", i+2, strings.ReplaceAll(text, "\n", "\ndata: "))
			for _, l := range listeners {
				if got, err := l.next(); got != want || err != nil {
					t.Errorf("event %q, %v, want %q", got, err, want)
				}
			}
		}
		back := listen(t, url, "2")
		for _, want := range []string{"id: 3\ndata: two\ndata: lines\n", "id: 4\ndata: \n"} {
			if got, err := back.next(); got != want || err != nil {
				t.Errorf("who comes back hears %q, %v, want %q", got, err, want)
			}
		}
		if got := do(t, "POST", url+"/say", "text/plain", strings.Repeat("x", 5000)); !strings.HasPrefix(got, "413 ") {
			t.Errorf("a long text is answered %q", got)
		}
		// Who listens at the end hears that it is one.
		x.interrupt()
		for _, l := range append(listeners, back) {
			if got, err := l.next(); got != "" || err != io.EOF {
				t.Errorf("at the end: %q, %v", got, err)
			}
		}
	})
}

// A listener hears the events of one answer.
type listener struct{ in *bufio.Reader }

// listen listens to what comes after the event with the ID last, or from now on.
func listen(t *testing.T, url, last string) *listener {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || kind != "text/event-stream" {
		t.Fatalf("status %d, content type %q", resp.StatusCode, kind)
	}
	return &listener{bufio.NewReader(resp.Body)}
}

// next waits for an event.
func (l *listener) next() (event string, err error) {
	for {
		line, err := l.in.ReadString('\n')
		if err != nil || line == "\n" {
			return event + strings.TrimSuffix(line, "\n"), err
		}
		event += line
	}
}

func TestUnknownServer(t *testing.T) {
	for _, name := range []string{"chi", "sse"} {
		out, err := exec.Command(build(t, name), "-server", "apache").CombinedOutput()
		if err == nil || !strings.Contains(string(out), "net/http or redline") {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
}
