//go:build unix

package examples_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// The page comes with its parts, prices move, and what one says all hear, also later.
func TestLive(t *testing.T) {
	x := start(t, "live", "-every", "5ms")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for path, want := range map[string]string{"/": "live.js", "/live.js": "events", "/live.css": "{"} {
		if status, body := ask(t, ctx, "GET", x.url+path, "", ""); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d, without %q", path, status, want)
		}
	}

	prices := follow(t, ctx, x.url+"/events?topic=prices/*", "")
	if e := prices(); e["event"] != "price" || !strings.HasPrefix(e["topic"], "prices/") || !strings.Contains(e["data"], `"open":`) {
		t.Errorf("the first price is %q", e)
	}

	heard := follow(t, ctx, x.url+"/events?topic=chat", "")
	for _, c := range []struct {
		body string
		want int
	}{
		{`{"name":"gopher","text":"hello"}`, http.StatusNoContent},
		{`hello`, http.StatusBadRequest},
		{`{"name":"","text":"who?"}`, http.StatusBadRequest},
		{`{"name":"gopher","text":"` + strings.Repeat("x", 501) + `"}`, http.StatusBadRequest},
	} {
		if status, body := ask(t, ctx, "POST", x.url+"/chat", "application/json", c.body); status != c.want {
			t.Errorf("%.60s: %d %s, want %d", c.body, status, body, c.want)
		}
	}
	e := heard()
	if e["event"] != "message" || !strings.Contains(e["data"], `"text":"hello"`) || e["id"] == "" {
		t.Errorf("heard %q", e)
	}
	// A new page gets what was said, under the ID of the event.
	want := `[{"id":"` + e["id"] + `","message":` + e["data"] + `}]`
	if status, body := ask(t, ctx, "GET", x.url+"/chat", "", ""); status != http.StatusOK || body != want {
		t.Errorf("a new page gets %d %s, want %s", status, body, want)
	}
	// Who comes back with an earlier place hears it as well.
	epoch, _, _ := strings.Cut(e["id"], "-")
	if again := follow(t, ctx, x.url+"/events?topic=chat", epoch+"-0")(); again["data"] != e["data"] {
		t.Errorf("a client that resumes hears %q, want %q", again, e)
	}
	// Who says much is slowed down. On a busy machine the pause may be over when the next message comes.
	for status := 0; status != http.StatusTooManyRequests; {
		var body string
		status, body = ask(t, ctx, "POST", x.url+"/chat", "application/json", `{"name":"gopher","text":"again, at once"}`)
		if status != http.StatusNoContent && status != http.StatusTooManyRequests {
			t.Fatalf("one message after the other: %d %s", status, body)
		}
	}
}

// A page of another site cannot speak for its readers, in a request that needs no preflight.
func TestLiveOfAnotherSite(t *testing.T) {
	x := start(t, "live")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, field := range [][2]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://elsewhere.example"}} {
		r, err := http.NewRequestWithContext(ctx, "POST", x.url+"/chat", strings.NewReader(`{"name":"a","text":"b"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "text/plain")
		r.Header.Set(field[0], field[1])
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s", field, resp.Status)
		}
	}
	if _, body := ask(t, ctx, "GET", x.url+"/chat", "", ""); body != "[]" {
		t.Errorf("said: %s", body)
	}
}

func ask(t *testing.T, ctx context.Context, method, url, kind, body string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// follow returns a function that waits for the next event of a stream, by the names of its fields.
func follow(t *testing.T, ctx context.Context, url, last string) func() map[string]string {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", url, resp.Status)
	}
	lines := bufio.NewScanner(resp.Body)
	return func() map[string]string {
		t.Helper()
		e := map[string]string{}
		for lines.Scan() {
			switch name, value, found := strings.Cut(lines.Text(), ": "); {
			case found && name != "retry":
				e[name] += value
			case lines.Text() == "" && e["data"] != "":
				return e
			case lines.Text() == "":
				clear(e) // a position without an event
			}
		}
		t.Fatalf("the stream ends with %v", lines.Err())
		return nil
	}
}
