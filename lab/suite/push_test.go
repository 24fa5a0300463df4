package suite

import (
	"slices"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/suite/toolchain"
)

func TestWorkloadsOfPush(t *testing.T) {
	for _, test := range []struct {
		name                string
		connections, topics int
		published           string
	}{
		{"push-1k", 1000, 1, "10 events of 64 bytes per second"},
		{"push-10k", 10_000, 1, "5 events of 64 bytes per second"},
		{"push-100k", 100_000, 1, "1 events of 64 bytes per second"},
		{"push-topics", 30_000, 10_000, "5000 events of 64 bytes per second, to 10000 topics in turn"},
	} {
		w := findWorkload(test.name)
		if w == nil || w.push == nil {
			t.Errorf("%s is %+v", test.name, w)
			continue
		}
		b := &bench{cfg: Config{Connections: 64}}
		s := &Subject{Name: "nethttp", control: true}
		listen := b.listen(w, s, &server{addr: "127.0.0.1:1"})
		if w.connections != test.connections || listen.Topics != test.topics || listen.Publish == nil || listen.Validate() != nil {
			t.Errorf("%s: %d connections, %+v, %v", test.name, w.connections, listen, listen.Validate())
		}
		d := w.describe(test.connections)
		if d.Published != test.published || d.Unit != "event" || d.Lead != results.MetricCPU || d.Arrivals != "" {
			t.Errorf("%s: %+v", test.name, d)
		}
	}
}

// A process can hold as many subscribers as it may open files: a workload with more has those, and
// a note.
func TestFitPush(t *testing.T) {
	most, err := room()
	if err != nil {
		t.Fatal(err)
	}
	for name, each := range map[string]int{"push-100k": 1, "push-topics": 3} {
		b := &bench{cfg: Config{Connections: most + 1000, ConnectionsSet: true}, loads: []*workload{findWorkload(name), findWorkload("plaintext")}}
		if err := b.fitPush(); err != nil {
			t.Fatal(err)
		}
		if got := b.connections(b.loads[0]); got > most || got < most-each || got%each != 0 {
			t.Errorf("%s: %d subscribers, %d fit", name, got, most)
		}
		if b.connections(b.loads[1]) != most+1000 || len(b.cfg.Notes) != 1 || !strings.Contains(b.cfg.Notes[0], "ulimit -Hn") {
			t.Errorf("notes %q", b.cfg.Notes)
		}
	}
	small := &bench{cfg: Config{Connections: 64}, loads: []*workload{findWorkload("push-1k")}}
	if err := small.fitPush(); err != nil || most >= 1000 && (small.connections(small.loads[0]) != 1000 || len(small.cfg.Notes) > 0) {
		t.Errorf("%d subscribers, notes %q, %v", small.connections(small.loads[0]), small.cfg.Notes, err)
	}
}

func TestTwelveGroups(t *testing.T) {
	names := Expand([]string{"feed-all"})
	if len(names) != 12 || len(slices.Compact(slices.Sorted(slices.Values(names)))) != 12 {
		t.Errorf("groups %q", names)
	}
	overTLS, json := 0, 0
	for _, name := range names {
		w := findWorkload(name)
		if w == nil || w.feed == nil || w.connections != 500 || !w.stream {
			t.Errorf("%s is %+v", name, w)
			continue
		}
		listen := (&bench{}).listen(w, &Subject{}, &server{})
		if err := listen.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if listen.Format == spec.FormatEvents {
			json++
		}
		if w.secure != nil {
			overTLS++
		}
	}
	if overTLS != 6 || json != 6 {
		t.Errorf("%d over TLS, %d with JSON", overTLS, json)
	}
}

func TestWhoPushes(t *testing.T) {
	for _, test := range []struct {
		subject, workload string
		want              bool
	}{
		{"nethttp", "push-1k", true},
		{"limit", "push-1k", true},
		{"centrifuge", "push-topics", true},
		{"chi", "push-1k", false},
		{"redline-nethttp", "feed-64-10ms-json", true},
		{"limit", "feed-64-10ms-json", false},
		{"centrifuge", "feed-64-10ms-json", false},
		{"fiber", "feed-64-10ms-json-tls", false},
		{"fasthttp", "feed-1k-100ms-protobuf-tls", true},
		{"centrifuge", "plaintext", false},
		{"limit", "plaintext", true},
		{"chi", "plaintext", true},
	} {
		s := &Subject{Name: test.subject, URL: "http://{addr}", control: true}
		if got := s.serves(findWorkload(test.workload)); got != test.want {
			t.Errorf("%s serves %s: %v", test.subject, test.workload, got)
		}
	}
}

// The subjects of other languages are known in a checkout, and one whose tools are not installed is
// left out.
func TestForeignSubjects(t *testing.T) {
	c, err := OpenCatalogue("../..", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"vertx", "webflux", "axum"} {
		s, err := c.find(name)
		if err != nil || len(s.Tools) == 0 || len(s.Build) == 0 || !s.serves(findWorkload("feed-64-10ms-json-tls")) || s.serves(findWorkload("h2")) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	missing := &Subject{Name: "x", Tools: []string{"no-such-tool-for-redline"}, Build: []string{"true"}}
	err = missing.build(t.Context(), toolchain.Cache{}, t.TempDir())
	if !absent(err) || !strings.Contains(err.Error(), "no-such-tool-for-redline, which is not installed") {
		t.Errorf("%v", err)
	}
}

func TestCheckFeed(t *testing.T) {
	event := func(seq string) string { return `data: {"ts":1,"seq":` + seq + `,"text":"x"}` + "\n\n" }
	for _, test := range []struct {
		name, in, format string
		right            bool
	}{
		{"JSON", event("1") + event("2") + event("3"), spec.FormatEvents, true},
		{"a number missing", event("1") + event("3") + event("4"), spec.FormatEvents, false},
		{"no empty line", strings.Repeat(strings.TrimSuffix(event("1"), "\n"), 3), spec.FormatEvents, false},
		{"an end", event("1"), spec.FormatEvents, false},
		{"delimited", "\x01a\x02ab\x03abc", spec.FormatVarint, true},
		{"delimited, an end", "\x01a\x02a", spec.FormatVarint, false},
		{"delimited, too long", "\xff\xff\xff\x7f", spec.FormatVarint, false},
	} {
		if err := checkFeed(strings.NewReader(test.in), &feed{format: test.format}); (err == nil) != test.right {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
