package push

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// A listener is a subscriber of a test that reads plainText. It holds what comes against the
// promise: the events that it selects come in order, each once, or a gap says which do not.
type listener struct {
	t       testing.TB
	h       *Hub
	sub     *subscriber
	native  *looped               // nil: it is served like one of net/http
	selects func(seq uint64) bool // which events it asks for; nil: all of the hub

	ready   chan struct{} // gets a value when there may be something to receive
	room    int           // how many bytes its connection takes before it reads
	waiting int           // bytes that its connection has, and it has not read
	unread  bytes.Buffer

	lastID   string
	at       uint64 // everything up to here is accounted for
	excused  uint64 // events up to here may be missing: a gap has said so
	slow     int    // events that gaps have said to be dropped, since the last event
	events   int
	gaps     int
	dropped  int
	gapFirst bool // there was a gap before all events
	bye      string
	ended    bool
}

// listen adds a subscriber whose client reads everything at once, on a loop if there is one.
func listen(t testing.TB, h *Hub, on loop, j *joining) *listener {
	t.Helper()
	l := &listener{t: t, h: h, room: 1 << 40, ready: make(chan struct{}, 1), lastID: j.lastID}
	if seq, ok := h.position(j.lastID); ok {
		l.at = seq
	}
	l.join(on, j)
	return l
}

func (l *listener) join(on loop, j *joining) {
	l.t.Helper()
	if on != nil {
		l.native = &looped{on: new(redline.Subscription)}
		l.native.sink = l.native
		l.sub = &l.native.subscriber
	} else {
		l.native, l.sub = nil, &subscriber{sink: l}
	}
	if err := l.h.admit(l.sub, j); err != nil {
		l.t.Fatal(err)
	}
	l.h.join(l.sub, on, j)
}

func (l *listener) wake() {
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

func (l *listener) abort() {}

func (l *listener) unsent(func(*frame)) {}
func (l *listener) discard()            {}

// write implements output.
func (l *listener) write(f *frame) bool {
	if l.waiting > 0 && l.waiting+len(f.bytes()) > l.room {
		return false
	}
	l.take(f.bytes())
	return true
}

func (l *listener) take(b []byte) {
	l.waiting += len(b)
	for line := range bytes.Lines(b) {
		if line[0] < 'a' { // data is in lower case
			l.unread.Write(line)
		}
	}
}

func (l *listener) pending() int { return l.waiting }

func (l *listener) end() { l.ended = true }

// turn gives the listener what is due, and has it read everything. It reports whether another
// turn has to follow without waiting, as for net/http.
func (l *listener) turn() (more bool) {
	l.t.Helper()
	more = l.receive()
	l.read()
	return more
}

// receive gives the connection of the listener what is due, if it takes that.
func (l *listener) receive() (more bool) {
	switch {
	case l.ended:
	case l.native != nil:
		l.native.turn(l)
	case l.waiting < l.room:
		var t turn
		l.h.turn(l.sub, &t)
		for _, f := range t.frames {
			l.take(f.bytes())
		}
		l.ended, more = t.done, t.more || len(t.frames) > 0
		t.release()
	}
	return more
}

// read reads what the connection has.
func (l *listener) read() {
	l.t.Helper()
	for line := range strings.Lines(l.unread.String()) {
		f := strings.Fields(line)
		for i := range f {
			f[i] = strings.TrimPrefix(f[i], "=")
		}
		switch f[0] {
		case "S":
			if f[1] != "" {
				l.lastID, l.at = f[1], l.place(f[1])
			}
		case "E":
			seq := l.place(f[1])
			if seq <= l.at {
				l.t.Fatalf("%s comes after %s", f[1], l.lastID)
			}
			l.account(seq)
			l.at, l.lastID = seq, f[1]
			l.events++
		case "G":
			l.gap(f)
		case "Y":
			l.bye = f[1]
		}
	}
	l.unread.Reset()
	l.waiting = 0
}

// gap reads "G ID FROM TO DROPPED REASON".
func (l *listener) gap(f []string) {
	l.t.Helper()
	if f[2] != l.lastID {
		l.t.Fatalf("a gap from %s comes after %s", f[2], l.lastID)
	}
	l.gaps++
	l.gapFirst = l.gapFirst || l.events == 0
	n, _ := strconv.Atoi(f[4])
	switch f[5] {
	case "slow":
		l.slow += n
		l.dropped += n
	case "epoch", "unknown-id":
		l.at, l.excused = 0, l.place(f[3])-1
	default:
		l.excused = max(l.excused, l.place(f[3])-1)
		if f[1] == f[3] { // a position: everything up to it
			l.excused = max(l.excused, l.place(f[3]))
		}
	}
	if f[1] != "" {
		l.lastID = f[1]
	}
}

func (l *listener) place(id string) uint64 {
	seq, ok := l.h.position(id)
	if !ok {
		l.t.Fatalf("%q is not a position of this hub", id)
	}
	return seq
}

// account wants a reason for every event before seq that has not come.
func (l *listener) account(seq uint64) {
	l.t.Helper()
	must, may := 0, 0
	for at := l.at + 1; at < seq; at++ {
		switch {
		case l.selects != nil && !l.selects(at):
		case at <= l.excused:
			may++
		default:
			must++
		}
	}
	if l.slow < must || l.slow > must+may {
		l.t.Fatalf("%d to %d events are missing between %s and %d, said to be dropped: %d", must, must+may, l.lastID, seq, l.slow)
	}
	l.slow, l.at = 0, max(l.at, seq-1)
}

// follow receives, on a goroutine of its own, until it has accounted for everything up to seq.
func (l *listener) follow(seq uint64) {
	give := time.NewTimer(time.Minute)
	defer give.Stop()
	for l.at < seq && !l.ended {
		give.Reset(time.Minute)
		if l.turn() || l.at >= seq {
			continue
		}
		select {
		case <-l.ready:
		case <-give.C:
			l.t.Errorf("waited too long: it has got %d of %d", l.at, seq)
			return
		}
	}
}

// A looping is a loop of a test with its listeners.
type looping struct {
	*fakeLoop
	by map[*redline.Subscription]*listener
}

func newLooping() *looping { return &looping{new(fakeLoop), map[*redline.Subscription]*listener{}} }

func (p *looping) listen(t testing.TB, h *Hub, j *joining) *listener {
	l := listen(t, h, p.fakeLoop, j)
	p.by[l.native.on] = l
	return l
}

// run takes the steps of all walks, and the turns that follow from them.
func (p *looping) run() {
	for len(p.walks) > 0 {
		s := p.walks[0]()
		if s == nil {
			p.walks = p.walks[1:]
			continue
		}
		p.by[s].receive()
	}
}

// leave takes the listener out of the hub.
func (l *listener) leave() {
	if l.sub != nil {
		if l.native != nil {
			l.native.forget()
		}
		l.h.leave(l.sub)
		l.sub = nil
	}
}
