package present

import (
	"regexp"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/results"
)

func TestLive(t *testing.T) {
	d, _ := openRun(t)
	tick := PointOf(&spec.Tick{T: 0.2, Seconds: 0.2, Requests: 400, Errors: 2, P50: 1000, P99: 2000, SendLag: 12, Waiting: 1, ServerCPU: 0.5})
	tick.RSSBytes, tick.Threads, tick.OpenFiles = 5<<20, 9, 72
	show := func(width int, how func(*Live)) string {
		var b strings.Builder
		l := NewLive(&b, screen.Screen{Width: width, Rewrites: width > 0})
		how(l)
		return b.String()
	}
	run := func(l *Live) {
		l.Begin(d)
		l.Connected()
		l.Window()
		l.Point(tick)
		next := tick
		next.T = 0.4 // within the same second
		l.Point(next)
		next.T = 1.2
		l.Point(next)
	}
	plain := show(0, run)
	if strings.Count(plain, "\n") != 2 || strings.Contains(plain, "\x1b") {
		t.Errorf("progress:\n%q", plain)
	}
	if want := "window    1.2s  rate 2.00k/s  p50 1.00 ms  p99 2.00 ms  errors 6  send lag 12.0 µs  waiting 1  server CPU 0.50  RSS 5.00 MiB  threads 9  descriptors 72\n"; !strings.HasSuffix(plain, want) {
		t.Errorf("progress %q", plain)
	}
	if text := show(0, func(l *Live) { l.Steps(); run(l); l.Say("kept") }); text != "kept\n" {
		t.Errorf("steps %q", text)
	}
	// On a terminal no line reaches the edge, and at the end the panel is removed.
	for _, width := range []int{20, 80, 200} {
		text := show(width, func(l *Live) { run(l); l.End() })
		if !strings.HasSuffix(text, "A\r\x1b[J") {
			t.Errorf("width %d: it ends with %q", width, text[max(0, len(text)-20):])
		}
		for l := range strings.Lines(regexp.MustCompile("\x1b\\[[0-9]*[A-Z]|\r").ReplaceAllString(text, "")) {
			if n := len([]rune(l)); n > width {
				t.Errorf("width %d: a line of %d: %q", width, n, l)
			}
		}
	}
}

// If the window ends after a number of requests, the view shows their share.
func TestLiveShowsRequests(t *testing.T) {
	for _, width := range []int{0, 80} {
		var b strings.Builder
		d, _ := openRun(t)
		d.Config.Requests = 1000
		l := NewLive(&b, screen.Screen{Width: width, Rewrites: width > 0})
		l.Begin(d)
		l.Window()
		for _, at := range []float64{0.2, 1.2} {
			l.Point(PointOf(&spec.Tick{T: at, Seconds: 0.2, Requests: 200, Errors: 50, P50: 1000, P99: 2000}))
		}
		want := []string{"window    1.2s  500 of 1000 requests  rate 1.00k/s"}
		if width > 0 {
			want = []string{"█████░░░░░░░░░░░░░░░ window  250 of 1000 requests, 0.2 s", "██████████░░░░░░░░░░ window  500 of 1000 requests, 1.2 s"}
		}
		for _, w := range want {
			if !strings.Contains(b.String(), w) {
				t.Errorf("width %d: no %q in %q", width, w, b.String())
			}
		}
	}
}

// The bars have a scale: that of the bars that fit.
func TestLiveScale(t *testing.T) {
	d, _ := openRun(t)
	for width, want := range map[int]string{
		48:  "  0 to 12.0k/s, lowest 6.40k/s\n",
		120: "  0 to 12.0k/s, lowest 400/s\n",
	} {
		var b strings.Builder
		l := NewLive(&b, screen.Screen{Width: width, Rewrites: true})
		l.Begin(d)
		l.Window()
		for i := range 30 {
			b.Reset()
			l.Point(PointOf(&spec.Tick{T: float64(i), Seconds: 1, Requests: uint64(400 * (i + 1))}))
		}
		if !strings.Contains(b.String(), "██"+want) {
			t.Errorf("width %d: no %q in %q", width, want, b.String())
		}
	}
}

// The panel shows the server, and its runtime also between readings, for requests and for
// events.
func TestLiveShowsServer(t *testing.T) {
	for name, heard := range map[string]*spec.Heard{"requests": nil, "events": {Standing: 7}} {
		d, _ := openRun(t)
		read := PointOf(&spec.Tick{T: 0.2, Seconds: 0.2, Requests: 400, P50: 1000, P99: 2000, SendLag: 12, ServerCPU: 0.5, Listen: heard})
		read.RSSBytes, read.Goroutines, read.Runtime = 5<<20, 71, &results.RuntimeSample{HeapBytes: 3 << 20}
		bare := read
		bare.T, bare.Goroutines, bare.Runtime = 0.4, 0, nil
		want := []string{"rate 2.00k/s", "p50 1.00 ms", "p99 2.00 ms", "errors 0", "send lag 12.0 µs", "server CPU 0.50", "RSS 5.00 MiB", "goroutines 71", "heap 3.00 MiB"}
		if heard != nil {
			want = []string{"events 2.00k/s", "standing 7", "errors 0", "server CPU 0.50", "RSS 5.00 MiB", "goroutines 71", "heap 3.00 MiB"}
		}
		for _, width := range []int{0, 60, 200} {
			for _, p := range []Point{read, bare} {
				var b strings.Builder
				l := NewLive(&b, screen.Screen{Width: width, Rewrites: width > 0})
				l.Begin(d)
				l.Window()
				l.Point(read)
				l.said = -1 // write a line for the next point of the same second, too
				b.Reset()
				l.Point(p)
				for _, w := range want {
					if !strings.Contains(b.String(), w) {
						t.Errorf("%s, width %d, at %v s: no %q in %q", name, width, p.T, w, b.String())
					}
				}
			}
		}
	}
}

// The methods of a nil Live do nothing.
func TestLiveNil(t *testing.T) {
	var l *Live
	l.Steps()
	l.Begin(new(Document))
	l.Standing(1)
	l.Connected()
	l.Window()
	l.Point(Point{})
	l.Say("text")
	l.End()
}
