package main

import (
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/internal/pace"
	"github.com/redline-go/redline/lab/load/spec"
)

// streamOf answers with a record every few milliseconds until the client disconnects.
func streamOf(kind string, record func(id int) string) func(http.ResponseWriter, *http.Request, int64) {
	return func(w http.ResponseWriter, r *http.Request, _ int64) {
		w.Header().Set("Content-Type", kind)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for id := 1; ; id++ {
			if _, err := w.Write([]byte(record(id))); err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			select {
			case <-r.Context().Done():
				return
			case <-tick.C:
			}
		}
	}
}

// stamped returns the JSON of a record.
func stamped(id int) string {
	return fmt.Sprintf(`{"n":%d,"meta":{"at":%d}}`, id, time.Now().UnixMicro())
}

// streams are the formats that have flags.
var streams = []struct {
	name    string
	flags   []string
	kind    string
	record  func(id int) string
	missing uint64 // one of this many ids is missing
}{
	{
		"server-sent events",
		[]string{"--sse", "--stamp", "meta.at"},
		"text/event-stream",
		func(id int) string { return fmt.Sprintf("id: %d\ndata: %s\n\n", id+id/10, stamped(id)) }, 10,
	},
	{
		"JSON in lines",
		[]string{"--ndjson", "--stamp", "meta.at:us", "--ids", "n"},
		"application/x-ndjson",
		func(id int) string { return stamped(id) + "\n" }, 0,
	},
	{
		"records with lengths",
		[]string{"--length-delimited", "--stamp", "meta.at", "--ids", "n"},
		"application/octet-stream",
		func(id int) string {
			r := stamped(id)
			return string(binary.BigEndian.AppendUint32(nil, uint32(len(r)))) + r
		}, 0,
	},
	{
		"records with varints",
		[]string{"--length-delimited=varint", "--stamp", "meta.at", "--ids", "n"},
		"application/octet-stream",
		func(id int) string {
			r := stamped(id)
			return string(binary.AppendUvarint(nil, uint64(len(r)))) + r
		}, 0,
	},
}

func TestLoadStreams(t *testing.T) {
	for _, c := range streams {
		t.Run(c.name, func(t *testing.T) {
			if c.name != "server-sent events" {
				once(t)
			}
			dir := t.TempDir()
			url, asked := serve(t, streamOf(c.kind, c.record))
			args := slices.Concat(short(c.flags...), []string{
				"--threshold", "delay.p50<10m,gap.p50<10m,standing>=3,cut<1", "--json", "-", "--csv", filepath.Join(dir, "series.csv"),
				"--hdr", filepath.Join(dir, "run.hdr"), "--html", filepath.Join(dir, "run.html"), url,
			})
			code, out, said := loadOf(t, t.Context(), args...)
			if code != 0 {
				t.Fatalf("exit code %d, %s", code, said)
			}
			d := documentOf(t, out)
			s := d.Stream
			if s == nil || s.Events == 0 || s.Events != d.Requests || s.Events != d.Latency.Count || s.EventsPerSecond != d.RequestsPerSecond {
				t.Fatalf("stream %+v, %d requests, %d delays", s, d.Requests, d.Latency.Count)
			}
			if s.Standing != 3 || s.Subscribers != 3 || s.Gap.Count < s.Events-3 || s.Lag.Count == 0 || len(d.Errors) != 0 || asked.Load() != 4 {
				t.Errorf("stream %+v, errors %v, asked %d times", s, d.Errors, asked.Load())
			}
			// One in ten, plus or minus one for each subscriber.
			if most := s.Events/10 + 3; c.missing > 0 && (s.Missed > most || s.Missed+6 < most) || c.missing == 0 && s.Missed > 0 || s.Duplicated > 0 {
				t.Errorf("of %d events %d missed, %d duplicated", s.Events, s.Missed, s.Duplicated)
			}
			for _, want := range []string{"3 subscribers", "events", "ids ", "delay", "read lag", "an event", "kept"} {
				if !strings.Contains(said, want) {
					t.Errorf("%q is not in the summary:\n%s", want, said)
				}
			}
			series(t, filepath.Join(dir, "series.csv"))
			hdr, err := os.ReadFile(filepath.Join(dir, "run.hdr"))
			if err != nil || !strings.Contains(string(hdr), "\n0.000,") || !strings.Contains(string(hdr), "Tag=gap,") {
				t.Errorf("%v, %.200s", err, hdr)
			}
			if info, err := os.Stat(filepath.Join(dir, "run.html")); err != nil || info.Size() == 0 {
				t.Errorf("page: %v", err)
			}
		})
	}
}

// A run without a single event that has the key is INVALID, or reports that.
func TestLoadStreamLooksInVain(t *testing.T) {
	once(t)
	of := map[string]struct {
		kind   string
		record func(id int) string
	}{
		"--ndjson": {"application/x-ndjson", func(id int) string { return stamped(id) + "\n" }},
		"--sse":    {"text/event-stream", func(id int) string { return "data: " + stamped(id) + "\n\n" }},
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--ndjson", "--ids", "nokey", "--threshold", "missed<1"}, 4, "events has a number under the key nokey: see --ids (gate ids)"},
		{[]string{"--ndjson", "--ids", "nokey", "--threshold", "missed<1", "--allow-invalid"}, 3, "BROKEN      missed<1: 0 events with an id are too few to judge"},
		{[]string{"--sse", "--ids", "@id"}, 4, "events has a number in the field id: see --ids (gate ids)"},
		{[]string{"--sse", "--stamp", "nokey", "--ids", "n"}, 4, "events has a number under the key nokey: see --stamp (gate stamp)"},
		{[]string{"--sse", "--threshold", "duplicated<1", "--allow-invalid"}, 3, "ids         none of the events had a number in the field id: the number of missed events is unknown"},
		{[]string{"--ndjson", "--ids", "n", "--stamp", "meta.at", "--threshold", "missed<1", "--allow-invalid"}, 0, "kept        missed<1: it is 0"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			answer := of[c.args[0]]
			url, _ := serve(t, streamOf(answer.kind, answer.record))
			args := append([]string{"-c", "2", "-d", pace.Window(300 * time.Millisecond).String(), "--warmup", "0s", "--quiet", url}, c.args...)
			code, said, errors := loadOf(t, t.Context(), args...)
			if code != c.code || !strings.Contains(strings.Join(strings.Fields(said), " "), strings.Join(strings.Fields(c.want), " ")) {
				t.Errorf("exit code %d, want %d, %q\n%s%s", code, c.code, c.want, said, errors)
			}
		})
	}
}

// series checks that the columns of subscribers are in a time series.
func series(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) < 3 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	at := slices.Index(rows[0], "standing")
	if at < 0 || rows[len(rows)-1][at] != "3" {
		t.Errorf("columns %v, last %v", rows[0], rows[len(rows)-1])
	}
}

// The result of several workers covers all subscribers.
func TestLoadStreamWorkers(t *testing.T) {
	url, asked := serve(t, streamOf("text/event-stream", func(id int) string {
		return fmt.Sprintf("id: %d\ndata: %d\n\n", id+id/10, time.Now().UnixNano())
	}))
	code, out, said := loadOf(t, t.Context(), short("--sse", "--stamp", "@data", "--workers", "2", "-c", "5", "--json", "-", url)...)
	if code != 0 {
		t.Fatalf("exit code %d, %s", code, said)
	}
	d := documentOf(t, out)
	s := d.Stream
	var events uint64
	for _, w := range d.Workers {
		events += w.Requests
		if len(w.Gates) == 0 || w.Gates[0].Name != "events" {
			t.Errorf("worker %d is judged by %+v", w.Index, w.Gates)
		}
	}
	if len(d.Workers) != 2 || s.Subscribers != 5 || s.Standing != 5 || asked.Load() != 6 || len(d.Errors) != 0 {
		t.Errorf("%d workers, stream %+v, errors %v, asked %d times", len(d.Workers), s, d.Errors, asked.Load())
	}
	if s.Events == 0 || s.Events != events || s.Events != d.Latency.Count || s.Gap.Count == 0 || s.Lag.Count == 0 || s.Missed == 0 {
		t.Errorf("stream %+v, %d events of workers, %d delays", s, events, d.Latency.Count)
	}
}

// Subscribers reconnect when the server ends their streams, and lost events are counted.
func TestLoadComesBack(t *testing.T) {
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, _ int64) {
		var from int
		_, _ = fmt.Sscan(r.Header.Get("Last-Event-ID"), &from)
		w.Header().Set("Content-Type", "text/event-stream")
		for id := from + 1; id <= from+10; id++ {
			fmt.Fprintf(w, "id: %d\ndata: x\n\n", id)
		}
	})
	code, out, said := loadOf(t, t.Context(), short("--sse", "--retry", "1ms", "--threshold", "missed<1", "--threshold", "reconnects<1", "--json", "-", url)...)
	d := documentOf(t, out)
	if code != 3 || !strings.Contains(said, "BROKEN") || d.Stream.Reconnects == 0 || d.Stream.Ends == 0 || len(d.Errors) != 0 {
		t.Errorf("exit code %d, stream %+v, errors %v\n%s", code, d.Stream, d.Errors, said)
	}
	if s := d.Stream; s.Missed != 0 || s.Duplicated != 0 || s.Events == 0 {
		t.Errorf("%d events, %d missed, %d duplicated", s.Events, s.Missed, s.Duplicated)
	}
}

func TestLoadStreamRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		code   int
		want   string
	}{
		{"204", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, 1, "answers with status 204: it accepts no subscribers"},
		{"redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/there", http.StatusFound) }, 1, "redirects with status 302 to /there, and redirects are not followed: subscribe to that URL"},
		{"status", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, 1, "answers with status 503, but a stream has status 200"},
		{"page", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, 1, "the media type of its answer is not text/event-stream (text/html; charset=utf-8): it is not a stream for --sse"},
		{"gzip", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(200)
		}, 1, "answer has a content coding, although none was offered (gzip)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, _ int64) { c.answer(w, r) })
			code, _, said := loadOf(t, t.Context(), short("--sse", "--timeout", "1s", "--retry", "10ms", "--quiet", url)...)
			if code != c.code || !strings.Contains(said, c.want) {
				t.Errorf("exit code %d, %s; want %d, %s", code, said, c.code, c.want)
			}
		})
	}
}

func TestLoadStreamUsage(t *testing.T) {
	const url = "http://127.0.0.1:1/"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--stamp", "ts"}, "--stamp is for subscribers: add --sse, --ndjson, --length-delimited or --websocket"},
		{[]string{"--retry", "1s"}, "--retry is for subscribers"},
		{[]string{"--sse", "--ndjson"}, "write the one that fits the server's stream"},
		{[]string{"--length-delimited=u16"}, "--length-delimited=u16: write u32 or varint"},
		{[]string{"--sse", "--rate", "5"}, "--rate is for requests, and --sse for subscribers"},
		{[]string{"--ndjson", "--pipeline", "2"}, "--pipeline is for requests, and --ndjson for subscribers"},
		{[]string{"--sse", "--body", "x"}, "--body is for requests"},
		{[]string{"--sse", "--find", "p99<1s"}, "--find is for requests"},
		{[]string{"--sse", "--stamp", "ts:years"}, `unit "years" of a time stamp: write auto, s, ms, us or ns`},
		{[]string{"--sse", "--stamp", "a..b"}, "write keys with a point between them"},
		{[]string{"--ndjson", "--stamp", "@id"}, "write @data or a key"},
		{[]string{"--sse", "--ids", "@"}, "--ids:"},
		{[]string{"--sse", "--retry", "soon"}, "--retry soon: write a time, as 3s, or never"},
		{[]string{"--sse", "--stall", "-1s"}, "--stall -1s: want 0 or more"},
		{[]string{"--sse", "--threshold", "missed<x"}, "write a count, as missed<1"},
		{[]string{"--sse", "--threshold", "delay.rate>1"}, "write one as delay.p99<10ms"},
		{[]string{"--sse", "--threshold", "delay.p99<1s"}, "--threshold delay.p99<1s: say where an event has its time, as --stamp ts or --stamp @data"},
		{[]string{"--ndjson", "--threshold", "missed<1"}, "--threshold missed<1: say where an event has its id, as --ids seq or --ids @id"},
		{[]string{"--sse", "--ids", "none", "--threshold", "duplicated<1"}, "--threshold duplicated<1: say where an event has its id"},
		{[]string{"--threshold", "gap.p99<1s"}, "is a figure of subscribers; add --sse"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			code, _, said := loadOf(t, t.Context(), append(c.args, url)...)
			if code != 2 || !strings.Contains(said, c.want) {
				t.Errorf("exit code %d, %q; want 2, %q", code, said, c.want)
			}
		})
	}
}

// The specification of a generator survives encoding as JSON.
func TestStreamConfigTravels(t *testing.T) {
	c := spec.Subscribe{Format: spec.FormatVarint, Limit: 5, Stamp: "a.b", Unit: "us", ID: "n", Retry: spec.NeverRetry, Stall: time.Second, Ends: true}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var got spec.Subscribe
	if err := json.Unmarshal(text, &got); err != nil || got != c {
		t.Errorf("%v: got %+v, want %+v", err, got, c)
	}
}
