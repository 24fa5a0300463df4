package push_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
)

var (
	metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"\})? (\S+)$`)
)

// exposition reads Prometheus' text format as strictly as its tools: a family has one HELP, then one TYPE,
// then its samples, each once; counters end in _total, gauges do not.
func exposition(text string) (values map[string]float64, err error) {
	values = map[string]float64{}
	if !strings.HasSuffix(text, "\n") {
		return nil, errors.New("the last line does not end")
	}
	var family, kind string
	known := map[string]bool{}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		comment, rest, _ := strings.Cut(strings.TrimPrefix(line, "# "), " ")
		name, more, ok := strings.Cut(rest, " ")
		switch {
		case strings.HasPrefix(line, "# HELP "):
			if family, kind = name, ""; known[name] || !metricName.MatchString(name) || !ok || !strings.HasSuffix(more, ".") {
				return nil, fmt.Errorf("%s: %q", comment, line)
			}
			known[name] = true
		case strings.HasPrefix(line, "# TYPE "):
			if kind = more; name != family || kind != "counter" && kind != "gauge" || strings.HasSuffix(name, "_total") != (kind == "counter") {
				return nil, fmt.Errorf("%s: %q", comment, line)
			}
		default:
			m := sampleLine.FindStringSubmatch(line)
			if m == nil || m[1] != family || kind == "" {
				return nil, fmt.Errorf("sample: %q", line)
			}
			key := m[1] + m[2]
			if _, twice := values[key]; twice {
				return nil, fmt.Errorf("twice: %q", line)
			}
			if values[key], err = strconv.ParseFloat(m[5], 64); err != nil || kind == "counter" && values[key] < 0 {
				return nil, fmt.Errorf("value: %q", line)
			}
		}
	}
	return values, nil
}

// TestMetrics: the figures are in the text format, and are those of the hub.
func TestMetrics(t *testing.T) {
	hub := pushtest.Hub(t, push.Options{MaxSubscribers: 2})
	server, metrics := pushtest.Plain(t, known(hub)), httptest.NewServer(hub.Metrics())
	t.Cleanup(metrics.Close)
	scrape := func() map[string]float64 {
		t.Helper()
		resp, err := http.Get(metrics.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" {
			t.Fatalf("%d %v %v", resp.StatusCode, resp.Header, err)
		}
		values, err := exposition(string(text))
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		return values
	}
	first := scrape() // all series are there before anything has happened
	s := pushtest.Open(t, server, as("ann", ""))
	pushtest.Publish(t, hub, "t", "x")
	last := s.Want("x")
	pushtest.Open(t, server, as("bob", ""))
	pushtest.Refused(t, "GET", as("", "").URL(server), nil)
	if _, err := hub.End(t.Context(), push.Ending{User: "ann"}); err != nil {
		t.Fatal(err)
	}
	bye(t, s)
	pushtest.Until(t, "it has left", func() bool { return hub.Stats().Subscribers == 1 })
	q := as("eve", "")
	q.LastID = last.ID
	r := pushtest.Open(t, server, q)
	r.Close()
	pushtest.Until(t, "it has left", func() bool { return hub.Stats().Endings["client"] == 1 })
	after := scrape()
	if len(first) != len(after) {
		t.Errorf("%d series became %d", len(first), len(after))
	}
	for name, want := range map[string]float64{
		"subscribers": 1, "topics": 1, "history_events": 1, "published_total": 1, "delivered_total": 1, "resumptions_total": 1,
		"queue_events": 0, "queue_bytes": 0, "broker_linked": 1, "gaps_total": 0,
		`endings_total{reason="ended"}`: 1, `endings_total{reason="client"}`: 1, `endings_total{reason="memory"}`: 0,
		`refusals_total{limit="subscribers"}`: 1, `refusals_total{limit="connects"}`: 0,
	} {
		if got, ok := after["redline_push_"+name]; !ok || got != want {
			t.Errorf("%s: %v %v, want %v", name, got, ok, want)
		}
	}
	if after["redline_push_history_bytes"] <= 0 || after["redline_push_memory_bytes"] <= 0 {
		t.Errorf("no bytes: %v", after)
	}
	if status, _, got := pushtest.Refused(t, "POST", metrics.URL, nil); status != 405 || got.Get("Allow") == "" {
		t.Errorf("POST: %d %v", status, got)
	}
}
