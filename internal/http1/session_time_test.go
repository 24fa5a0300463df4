package http1

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/exchange"
)

// TestStretch tells the time that a handler takes, or waits for others, from that of
// its content and output.
func TestStretch(t *testing.T) {
	const pause = 20 * time.Millisecond
	begun := time.Now()
	var took, stretch, total time.Duration
	content := func(x *exchange.Exchange) {
		b := make([]byte, 1<<10)
		for err := error(nil); err == nil; {
			_, err = x.Session.ReadBody(x, b)
		}
	}
	handler := pathHandler{
		"reads": func(x *exchange.Exchange) {
			content(x)
			stretch, total = x.Session.Stretch(), time.Since(begun)
			took = total - 4*pause
		},
		"sends": func(x *exchange.Exchange) {
			for range 4 {
				if err := errors.Join(x.Session.SendBody(x, []byte("x")), x.Session.Flush(x)); err != nil {
					t.Error(err)
				}
			}
			stretch, total = x.Session.Stretch(), time.Since(begun)
			took = total - 4*pause
		},
		"waits": func(x *exchange.Exchange) {
			time.Sleep(3 * pause)
			content(x)
			stretch = x.Session.Stretch()
		},
	}
	post := func(path string) []string {
		head := req("POST", path, "Content-Length: 8\r\n")
		return append([]string{head}, strings.Split("ab cd ef gh", " ")...)
	}
	for _, path := range []string{"/reads", "/sends"} {
		m := newMem(t, handler)
		m.slow = pause
		begun = time.Now()
		if m.send(post(path)...); stretch > took {
			t.Errorf("%s: a stretch of %v, want at most %v: %v without four times %v", path, stretch, took, total, pause)
		}
	}
	m := newMem(t, handler)
	m.slow = pause
	if m.send(post("/waits")...); stretch < 3*pause {
		t.Errorf("a stretch of %v, want the wait of %v", stretch, 3*pause)
	}
}

// TestFirstPart does not count what it takes to receive the first part of content.
func TestFirstPart(t *testing.T) {
	const pause = 20 * time.Millisecond
	clock.Enter() // so that the coarse time is that of who receives
	defer clock.Leave()
	for head, counts := range map[string]bool{
		"Content-Length: 2000000\r\n":    false,
		"Transfer-Encoding: chunked\r\n": false,
		"Content-Length: 1\r\n":          true, // it is there: the clock is not read for it
	} {
		var stretch time.Duration
		m := newMem(t, pathHandler{"x": func(x *exchange.Exchange) { stretch = x.Session.Stretch() }})
		clock.Refresh()
		time.Sleep(pause)
		sent := time.Now() // without a look at the coarse time
		m.send(req("POST", "/x", head) + "1")
		if passed := time.Since(sent); counts && stretch < pause || !counts && stretch > passed {
			t.Errorf("%s: a stretch of %v, %v after a pause of %v", strings.TrimSpace(head), stretch, passed, pause)
		}
	}
}

// TestLooks reads the clock around every read of calls that read a few times, and of
// one call in four that reads often; of the others nothing is said.
func TestLooks(t *testing.T) {
	var w times
	for _, reads := range []int{1, fewReads, 3 * fewReads} {
		known := 0
		for range 4000 {
			w.forget()
			looks := true
			for range reads {
				looks = w.looks()
			}
			if looks != !w.unknown {
				t.Fatalf("%d reads: looks %v, unknown %v", reads, looks, w.unknown)
			}
			if looks {
				known++
			}
		}
		// At random: ten standard deviations are allowed.
		if reads <= fewReads && known != 4000 || reads > fewReads && (known < 726 || known > 1274) {
			t.Errorf("%d reads: known of %d calls in 4000", reads, known)
		}
	}
	var m *memConn
	m = newMem(t, pathHandler{"x": func(x *exchange.Exchange) {
		for _, unknown := range []bool{true, false} {
			m.session.w.unknown = unknown
			if d := x.Session.Stretch(); (d == 0) != unknown {
				t.Errorf("unknown %v: a stretch of %v", unknown, d)
			}
		}
	}})
	m.send(req("GET", "/x", ""))
}

// TestStretches counts from where it was last asked, and small ones together.
func TestStretches(t *testing.T) {
	const pause = 20 * time.Millisecond
	const small, often = feedSlow / 10, 40
	var stretch, total time.Duration
	handler := pathHandler{
		"detaches": func(x *exchange.Exchange) {
			x.Session.Detach()
			before := time.Now()
			x.Session.Stretch()
			time.Sleep(pause)
			x.Session.Detach() // again: for a client
			stretch, total = x.Session.Stretch(), time.Since(before)
		},
		"computes": func(x *exchange.Exchange) {
			begun := time.Now()
			x.Session.Stretch()
			for range often {
				time.Sleep(small)
				if err := errors.Join(x.Session.SendBody(x, []byte("x")), x.Session.Flush(x)); err != nil {
					t.Error(err)
				}
			}
			stretch, total = x.Session.Stretch(), time.Since(begun)
		},
	}
	if newMem(t, handler).send(req("POST", "/detaches", "")); stretch < pause || stretch > total {
		t.Errorf("a stretch of %v off the loop, want %v to %v", stretch, pause, total)
	}
	if newMem(t, handler).send(req("POST", "/computes", "")); stretch < often*small || stretch > total {
		t.Errorf("stretches of %v together, want %v to %v", stretch, often*small, total)
	}
}

// TestToldApart reads the clock for each of the calls that come together for a while
// after they took long, and not for ever.
func TestToldApart(t *testing.T) {
	slow := true
	m := newMem(t, pathHandler{"x": func(x *exchange.Exchange) {
		if slow {
			time.Sleep(2 * feedSlow)
		}
		if err := errors.Join(x.Session.SendBody(x, []byte("x")), x.Session.Flush(x)); err != nil {
			t.Error(err)
		}
		x.Session.Held()
	}})
	two := strings.Repeat(req("GET", "/x", ""), 2)
	if m.send(two); m.session.apart != tellApart {
		t.Errorf("after a slow feed %d calls are told apart, want %d", m.session.apart, tellApart)
	}
	slow = false
	for range 1000 * tellApart { // on a busy machine a few of them are slow, too
		if m.send(two); m.session.apart == 0 {
			return
		}
	}
	t.Error("quick calls are told apart for ever")
}
