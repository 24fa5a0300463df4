package pushnats_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/redline-go/redline/contrib/pushnats"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
)

// open returns a broker that is closed after the hubs of the test, which are made later.
func open(t testing.TB, o pushnats.Options) *pushnats.Broker {
	t.Helper()
	if o.Dir == "" && o.URL == "" {
		o.Dir = t.TempDir()
	}
	b, err := pushnats.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// span waits until a broker can be opened.
func span(t testing.TB, b *pushnats.Broker) (s push.Span) {
	t.Helper()
	pushtest.Until(t, "the broker opens", func() bool {
		var err error
		s, err = b.Open(t.Context())
		return err == nil
	})
	return s
}

func put(t testing.TB, b *pushnats.Broker, topic, data string) uint64 {
	t.Helper()
	seq, _, err := b.Publish(t.Context(), push.Event{Topic: topic, Data: []byte(data)})
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

// replay returns the data of all events, and the oldest place.
func replay(t testing.TB, b *pushnats.Broker, after uint64, filters ...string) (got []string, oldest uint64) {
	t.Helper()
	oldest, err := b.Replay(t.Context(), after, 1<<60, filters, func(r push.Record) bool {
		got = append(got, string(r.Event.Data))
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, oldest
}

func TestBroker(t *testing.T) {
	pushtest.Broker(t, func(t *testing.T) push.Broker {
		b := open(t, pushnats.Options{})
		span(t, b)
		return b
	})
}

func TestFields(t *testing.T) {
	b := open(t, pushnats.Options{})
	span(t, b)
	then := time.Date(2024, 2, 29, 1, 2, 3, 4, time.UTC)
	for _, e := range []push.Event{
		{Topic: "a", Data: []byte("x"), Time: then},
		{Topic: "a/b.c/*d/>/ /%41/ä//", ID: " %41 ü", Type: " t y ", Key: "%", Data: []byte{0, 1, 255}, Time: then},
		{Topic: "https://example.com/a?b=c", Type: "type", Data: []byte{}, Time: then},
		{Topic: strings.Repeat(".", 512), Time: then},
	} {
		seq, _, err := b.Publish(t.Context(), e)
		if err != nil {
			t.Fatalf("%q: %v", e.Topic, err)
		}
		var got []push.Record
		if _, err = b.Replay(t.Context(), seq-1, seq, []string{e.Topic}, func(r push.Record) bool {
			got = append(got, r)
			return true
		}); err != nil || len(got) != 1 {
			t.Fatalf("%q: got %v, %v", e.Topic, got, err)
		}
		if g, w := fmt.Sprintf("%+v", got[0].Event), fmt.Sprintf("%+v", e); g != w || got[0].Seq != seq {
			t.Errorf("got  %s\nwant %s", g, w)
		}
	}
}

// TestForeign has another client of NATS publish events, and what is none.
func TestForeign(t *testing.T) {
	b := open(t, pushnats.Options{Listen: "127.0.0.1:0"})
	span(t, b)
	nc, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []struct {
		subject string
		header  nats.Header
	}{
		{"redline.good", nil},
		{"redline.%", nil},    // empty segment: no topic
		{"redline.%2", nil},   // an escape that is none
		{"redline.%41", nil},  // an escape that is not needed
		{"redline.\x01", nil}, // control character
		{"redline.t", nats.Header{"Redline-Type": {"hub:gap"}}},
		{"redline.t", nats.Header{"Redline-Key": {strings.Repeat("k", 256)}}},
		{"redline.t", nats.Header{"redline-type": {"lower 100%"}}},
	} {
		if _, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: m.subject, Header: m.header, Data: []byte(m.subject)}); err != nil {
			t.Fatalf("%q: %v", m.subject, err)
		}
	}
	end := put(t, b, "end", "end")
	ctx, cancel := context.WithTimeout(t.Context(), pushtest.Patience)
	defer cancel()
	var got []string
	err = b.Follow(ctx, 0, func(r push.Record) {
		got = append(got, r.Event.Topic+r.Event.Type)
		if r.Seq == end {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || fmt.Sprint(got) != "[good tlower 100% end]" {
		t.Errorf("got %q, %v", got, err)
	}
	got, _ = replay(t, b, 0, "**")
	if fmt.Sprint(got) != "[redline.good redline.t end]" {
		t.Errorf("replay: got %q", got)
	}
}

func TestRestart(t *testing.T) {
	o := pushnats.Options{Dir: t.TempDir()}
	b := open(t, o)
	before := span(t, b)
	if _, _, err := b.Publish(t.Context(), push.Event{Topic: "t", ID: "one", Data: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	put(t, b, "t", "2")
	if _, err := pushnats.New(o); err == nil || !strings.Contains(err.Error(), "another process uses it") {
		t.Errorf("a second server on the directory: %v", err)
	}
	_ = b.Close()
	if _, _, err := b.Publish(t.Context(), push.Event{Topic: "t"}); err == nil {
		t.Error("a closed broker publishes")
	}
	b = open(t, o)
	if s := span(t, b); s.Epoch != before.Epoch || s.First != 1 || s.Last != 2 {
		t.Errorf("after the restart: %+v, before it %+v", s, before)
	}
	if seq, repeated, err := b.Publish(t.Context(), push.Event{Topic: "t", ID: "one"}); err != nil || !repeated || seq != 1 {
		t.Errorf("the ID is forgotten: %d, %v, %v", seq, repeated, err)
	}
	if got, oldest := replay(t, b, 0, "t"); fmt.Sprint(got) != "[1 2]" || oldest != 1 {
		t.Errorf("got %v from %d", got, oldest)
	}
}

// TestBounds fills a stream beyond its limits.
func TestBounds(t *testing.T) {
	b := open(t, pushnats.Options{MaxEvents: 10, MaxEventBytes: 1000})
	span(t, b)
	for i := range 25 {
		put(t, b, "t", fmt.Sprint(i))
	}
	if got, oldest := replay(t, b, 3, "t"); len(got) != 10 || got[0] != "15" || oldest != 16 {
		t.Errorf("got %v from %d", got, oldest)
	}
	if s := span(t, b); s.First != 16 || s.Last != 25 {
		t.Errorf("got %+v", s)
	}
	_, _, err := b.Publish(t.Context(), push.Event{Topic: "t", Data: make([]byte, 20_000)})
	if err == nil || !strings.Contains(err.Error(), "reference") {
		t.Errorf("a large event: %v", err)
	}
}

// create creates a stream right after one was deleted. In the background the server then removes the
// directory of all streams, if it is empty: perhaps just before it makes that of the new stream, which
// it then refuses. The next attempt succeeds, and a hub makes one, too.
func create(t *testing.T, js jetstream.JetStream, config jetstream.StreamConfig) {
	t.Helper()
	pushtest.Until(t, "the stream is created", func() bool {
		_, err := js.CreateStream(t.Context(), config)
		var refused *jetstream.APIError
		switch {
		case errors.As(err, &refused) && refused.ErrorCode == jetstream.ErrorCode(server.JSStreamCreateErrF):
			t.Log(err)
		case err != nil:
			t.Fatal(err)
		}
		return err == nil
	})
}

// TestLoss takes the end of the stream away, and then the whole stream.
func TestLoss(t *testing.T) {
	o := pushnats.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"}
	b := open(t, o)
	first := span(t, b)
	witness := open(t, pushnats.Options{URL: b.URL()}) // has seen events that are lost
	for range 5 {
		put(t, witness, "t", "x")
	}
	span(t, witness)
	nc, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), "REDLINE")
	if err != nil {
		t.Fatal(err)
	}
	config := s.CachedInfo().Config
	if err := js.DeleteStream(t.Context(), "REDLINE"); err != nil {
		t.Fatal(err)
	}
	config.Metadata = map[string]string{"redline-epoch": first.Epoch} // as from an old copy
	create(t, js, config)
	second := span(t, witness)
	if second.Epoch == first.Epoch || second.Last != 0 {
		t.Errorf("the end is gone: %+v after %+v", second, first)
	}
	if s := span(t, b); s.Epoch != second.Epoch {
		t.Errorf("nodes name the epoch %s and %s", s.Epoch, second.Epoch)
	}
	if err := js.DeleteStream(t.Context(), "REDLINE"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Publish(t.Context(), push.Event{Topic: "t"}); err == nil {
		t.Error("published to no stream")
	}
	if s := span(t, b); s.Epoch == second.Epoch || s.Last != 0 {
		t.Errorf("the stream is new: %+v", s)
	}
}

func TestOptions(t *testing.T) {
	dir := t.TempDir()
	file := dir + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    pushnats.Options
		want string
	}{
		{pushnats.Options{}, "Options.Dir"},
		{pushnats.Options{Dir: dir, URL: "nats://127.0.0.1"}, "leave one out"},
		{pushnats.Options{URL: "nats://127.0.0.1", Listen: ":1"}, "embedded"},
		{pushnats.Options{Dir: dir, Stream: "a b"}, "Options.Stream"},
		{pushnats.Options{Dir: dir, Prefix: "a.*"}, "Options.Prefix"},
		{pushnats.Options{Dir: dir, MaxBytes: -1}, "Options.MaxBytes"},
		{pushnats.Options{Dir: dir, Window: 2 * time.Second, MaxAge: time.Second}, "Options.Window"},
		{pushnats.Options{Dir: dir, Replicas: 6}, "Options.Replicas"},
		{pushnats.Options{Dir: dir, MaxEventBytes: 1 << 30}, "Options.MaxEventBytes"},
		{pushnats.Options{Dir: dir, Listen: "nowhere"}, "HOST:PORT"},
		{pushnats.Options{Dir: file}, "not a directory"},
		{pushnats.Options{URL: "http://%%"}, "connect"},
	} {
		b, err := pushnats.New(c.o)
		if err == nil {
			_ = b.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

// TestMemberStarts opens the broker of a member of a cluster while its server starts, as a hub
// does, which must not disturb the start.
func TestMemberStarts(t *testing.T) {
	for range 5 {
		b := open(t, pushnats.Options{
			Dir: t.TempDir(), Listen: "127.0.0.1:0", Replicas: 3, Timeout: 10 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
			Configure: func(so *server.Options) {
				so.Cluster = server.ClusterOpts{Name: "alone", Host: "127.0.0.1", Port: server.RANDOM_PORT}
				so.Routes = server.RoutesFromStr("nats://127.0.0.1:1") // nobody
			},
		})
		pushtest.Until(t, "the server serves others", func() bool {
			if _, err := b.Open(t.Context()); err == nil {
				t.Error("a third of a cluster has opened the stream")
			}
			conn, err := net.Dial("tcp", strings.TrimPrefix(b.URL(), "nats://"))
			if err == nil {
				_ = conn.Close()
			}
			return err == nil
		})
	}
}

// TestLeft looks for what a closed broker leaves behind.
func TestLeft(t *testing.T) {
	count := func() (goroutines, files int) {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return runtime.NumGoroutine(), 0
		}
		return runtime.NumGoroutine(), len(entries)
	}
	var goroutines, files int
	for i := range 3 {
		b := open(t, pushnats.Options{Listen: "127.0.0.1:0"})
		hub := pushtest.Hub(t, push.Options{Broker: b})
		pushtest.Until(t, "the hub is ready", hub.Ready)
		pushtest.Publish(t, hub, "t", "x")
		if err := hub.Close(); err != nil {
			t.Fatal(err)
		}
		_ = b.Close()
		if i == 0 { // what the libraries start once
			goroutines, files = count()
			continue
		}
		pushtest.Until(t, "goroutines and descriptors have gone", func() bool {
			g, f := count()
			return g <= goroutines && f <= files
		})
	}
}

func BenchmarkPublish(b *testing.B) {
	for _, sync := range []time.Duration{0, time.Second} {
		for _, publishers := range []int{1, 64} {
			b.Run(fmt.Sprintf("sync=%v/publishers=%d", sync, publishers), func(b *testing.B) {
				broker := open(b, pushnats.Options{Sync: sync})
				span(b, broker)
				data := make([]byte, 64)
				b.SetParallelism(publishers)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if _, _, err := broker.Publish(context.Background(), push.Event{Topic: "t", Data: data}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			})
		}
	}
}

func BenchmarkReplay(b *testing.B) {
	broker := open(b, pushnats.Options{Sync: time.Second})
	span(b, broker)
	for i := range 1000 {
		put(b, broker, fmt.Sprint("t/", i%10), "data")
	}
	for b.Loop() {
		if got, _ := replay(b, broker, 0, "t/3"); len(got) != 100 {
			b.Fatal(len(got))
		}
	}
}
