package subscribe

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/internal/pace"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/results"
)

// specOf returns a short run of five subscribers of a server with this handler.
func specOf(t *testing.T, answer http.HandlerFunc) *spec.Spec {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return &spec.Spec{
		Addr: s.Listener.Addr().String(), Request: []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		Connections: 5, Pipeline: 1, Warmup: 100 * time.Millisecond, Window: pace.Window(300 * time.Millisecond), Tick: 50 * time.Millisecond,
		Timeout: 30 * time.Second, Listen: &spec.Subscribe{Format: spec.FormatEvents, Stamp: "@data", Unit: "ns", ID: "@id", Retry: 10 * time.Millisecond},
	}
}

// events sends an event every millisecond until the client disconnects; every tenth id is
// missing.
func events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for id := 1; r.Context().Err() == nil; id++ {
		fmt.Fprintf(w, "id: %d\ndata: %d\n\n", id+id/9, time.Now().UnixNano())
		if http.NewResponseController(w).Flush() != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// trace runs a specification and returns its events; see may be nil.
func trace(t *testing.T, ctx context.Context, order *spec.Spec, see func(spec.Event)) (all []spec.Event, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	err = Run(ctx, order, func(e spec.Event) {
		all = append(all, e)
		if see != nil {
			see(e)
		}
	})
	return all, err
}

func TestRun(t *testing.T) {
	order := specOf(t, events)
	order.Member = true
	var all []spec.Event
	for range 4 {
		var err error
		if all, err = trace(t, t.Context(), order, nil); err != nil {
			t.Fatal(err)
		}
		if r := all[len(all)-1].Result; r == nil || r.Requests >= 100 { // 20 of one subscriber: some are missing
			break
		}
		order.Window *= 4 // the machine gave the server no time
	}
	var connected, window bool
	var sum, missed uint64
	for i, e := range all {
		switch {
		case e.Connected:
			connected = true
		case e.Window:
			window = true
		case e.Tick != nil:
			if !connected || window != (e.Tick.T > 0) || window != (e.Tick.Counts != "") || e.Tick.Listen == nil || e.Tick.Listen.Standing != 5 {
				t.Errorf("event %d, window %v: %+v, %+v", i, window, e.Tick, e.Tick.Listen)
			}
			if window {
				sum, missed = sum+e.Tick.Requests, missed+e.Tick.Listen.Missed
			}
		}
	}
	r := all[len(all)-1].Result
	if r == nil || r.Listen == nil || !connected || !window {
		t.Fatalf("the last of %d events is %+v", len(all), all[len(all)-1])
	}
	l := r.Listen
	if r.Requests == 0 || r.Requests != sum || l.Events != sum || l.Missed != missed || l.Missed == 0 || l.Duplicated != 0 || len(r.Errors) != 0 {
		t.Errorf("%d requests, %d of ticks; %+v, errors %v", r.Requests, sum, l, r.Errors)
	}
	if l.Subscribers != 5 || l.Standing != 5 || l.Lowest != 5 || l.Memory == 0 || r.Connects != 5 || r.Seconds < order.Window.Seconds() {
		t.Errorf("%+v of %+v", l, r)
	}
	for name, text := range map[string]string{"delay": r.Histogram, "gap": l.Gap} {
		// A stream that is silent at the end for longer than usual has one gap more.
		least, most := sum, sum
		if name == "gap" {
			most += 5
		}
		if h, err := results.ParseLatency(text); err != nil || h.Count < least || h.Count > most {
			t.Errorf("%s: %d samples of %d events, %v", name, h.Count, sum, err)
		}
	}
}

// A run over TLS and HTTP/2, with shared connections, also reports handshakes.
func TestRunSecure(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP/2 %v", http2), func(t *testing.T) {
			s := httptest.NewUnstartedServer(http.HandlerFunc(events))
			s.EnableHTTP2 = http2
			s.StartTLS()
			t.Cleanup(s.Close)
			order := specOf(t, events)
			order.Addr, order.TLS, order.Timeout = s.Listener.Addr().String(), &spec.TLS{Insecure: true}, 20*time.Second
			connections, subscribers, protocol := 5, 5, "http/1.1"
			if order.HTTP2 = http2; http2 {
				order.Streams, subscribers, protocol = 3, 15, "h2"
			}
			all, err := trace(t, t.Context(), order, nil)
			if err != nil {
				t.Fatal(err)
			}
			r := all[len(all)-1].Result
			if r == nil || r.Listen == nil || r.TLS == nil || len(r.Errors) > 0 {
				t.Fatalf("the last event is %+v, of %+v", all[len(all)-1], r)
			}
			if l := r.Listen; l.Subscribers != subscribers || l.Standing != subscribers || l.Events == 0 || l.Duplicated > 0 || r.Connects != uint64(connections) {
				t.Errorf("%+v, %d connects", l, r.Connects)
			}
			times, err := results.ParseLatency(r.TLS.Histogram)
			if err != nil || times.Count != uint64(connections) || r.TLS.Handshakes != uint64(connections) || r.TLS.Protocol != protocol || r.TLS.Version != "TLS 1.3" {
				t.Errorf("TLS %+v, %d times, %v", r.TLS, times.Count, err)
			}
		})
	}
}

// Subscribers read events while other generators are not ready.
func TestWaitsForOthers(t *testing.T) {
	var sent atomic.Int64
	order := specOf(t, func(w http.ResponseWriter, r *http.Request) {
		sent.Add(1)
		events(w, r)
	})
	order.Listen.Stall = 3 * time.Second
	all, err := trace(t, t.Context(), order, func(e spec.Event) {
		if e.Connected {
			time.Sleep(4 * time.Second)
		}
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("%d events, %v", len(all), err)
	}
	if r := all[len(all)-1].Result; r == nil || r.Connects != 5 || sent.Load() != 5 {
		t.Errorf("%+v, the server was asked %d times", r, sent.Load())
	}
}

func TestCut(t *testing.T) {
	order := specOf(t, events)
	order.Window = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var ticks, seen uint64
	all, err := trace(t, ctx, order, func(e spec.Event) {
		if e.Tick != nil && e.Tick.T > 0 {
			ticks, seen = ticks+1, seen+e.Tick.Requests
			if ticks >= 3 && seen > 0 {
				cancel()
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if r := all[len(all)-1].Result; r == nil || !r.Cut || r.Requests == 0 || r.Seconds > 30 {
		t.Errorf("the last event is %+v", all[len(all)-1])
	}
}

// A run without a result returns an error, which the last event contains.
func TestNoResult(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		answer http.HandlerFunc
		change func(*spec.Spec)
		want   string
	}{
		{"refused", t.Context(), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, nil, "answer with a status other than 200 (status 503)"},
		{"unwanted", t.Context(), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, nil, "answered all with status 204"},
		{"cancelled", gone, events, nil, "cancelled"},
		{"not meant", t.Context(), events, func(s *spec.Spec) { s.Pipeline = 2 }, "spec: subscribers with"},
		{"no format", t.Context(), events, func(s *spec.Spec) { s.Listen.Format = "xml" }, `format "xml"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			order := specOf(t, c.answer)
			order.Timeout = 2 * time.Second
			if c.change != nil {
				c.change(order)
			}
			all, err := trace(t, c.ctx, order, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			if last := all[len(all)-1]; !reflect.DeepEqual(last, spec.Event{Error: err.Error()}) {
				t.Errorf("the last event is %+v", last)
			}
		})
	}
}
