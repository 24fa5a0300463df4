package request

import (
	"bytes"
	"context"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/scenario"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
)

// framed is one connection of a scripted HTTP/2 server.
type framed struct {
	*http2.Framer
	conn  net.Conn
	block bytes.Buffer
	enc   *hpack.Encoder
	left  bool // sent GOAWAY: later frames are ignored (RFC 9113, section 6.8)
}

// leave sends GOAWAY.
func (f *framed) leave(last uint32, code http2.ErrCode) bool {
	f.left = true
	return f.WriteGoAway(last, code, nil) == nil
}

// head begins the answer to a stream.
func (f *framed) head(id uint32, end bool, fields ...string) bool {
	f.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = f.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}) // to memory
	}
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: f.block.Bytes(), EndHeaders: true, EndStream: end}) == nil
}

// good sends the expected answer.
func (f *framed) good(id uint32) bool {
	return f.head(id, false, ":status", "200", "content-length", "5") && f.WriteData(id, true, []byte("hello")) == nil
}

// serveFrames starts a server in clear. do gets the n-th request of a connection,
// from 1 on, and returns false to close it.
func serveFrames(t *testing.T, settings []http2.Setting, do func(f *framed, id uint32, n int) bool) *scripted {
	return serve(t, func(_ *scripted, c *net.TCPConn) {
		hello := make([]byte, len(http2.ClientPreface))
		if _, err := io.ReadFull(c, hello); err != nil || string(hello) != http2.ClientPreface {
			return
		}
		f := &framed{Framer: http2.NewFramer(c, c), conn: c}
		f.enc = hpack.NewEncoder(&f.block)
		if f.WriteSettings(settings...) != nil {
			return
		}
		for n := 0; ; {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			switch frame := frame.(type) {
			case *http2.SettingsFrame:
				if !frame.IsAck() && f.WriteSettingsAck() != nil {
					return
				}
			case *http2.HeadersFrame:
				if n++; !f.left && !do(f, frame.StreamID, n) {
					return
				}
			}
		}
	})
}

func framesSpec(addr string) *spec.Spec {
	order := testSpec(addr)
	order.HTTP2, order.Streams = true, 4
	return order
}

// framesThatMisbehave lists errors of HTTP/2 servers.
var framesThatMisbehave = []struct {
	name  string
	kinds []string // the only ones counted
	do    func(f *framed, id uint32) bool
}{
	{"reset", []string{"h2-reset"}, func(f *framed, id uint32) bool {
		return f.head(id, false, ":status", "200") && f.WriteRSTStream(id, http2.ErrCodeInternal) == nil
	}},
	{"leaves, and is angry", []string{spec.ErrGoaway, "h2-refused"}, func(f *framed, id uint32) bool {
		return f.leave(id, http2.ErrCodeEnhanceYourCalm) && f.good(id)
	}},
	{"closes", []string{spec.ErrClosed, spec.ErrReset}, func(*framed, uint32) bool { return false }},
	{"resets the connection", []string{spec.ErrReset}, func(f *framed, _ uint32) bool {
		return f.conn.(*net.TCPConn).SetLinger(0) == nil && false
	}},
	{"garbage", []string{"h2-frame-size", "h2-protocol", spec.ErrReset}, func(f *framed, _ uint32) bool {
		return say(f.conn, strings.Repeat("garbage ", 4)) && false
	}},
	{"another protocol's frame", []string{"h2-protocol"}, func(f *framed, id uint32) bool {
		return f.WritePushPromise(http2.PushPromiseParam{StreamID: id, PromiseID: 2, EndHeaders: true}) == nil
	}},
	{"a table that is not there", []string{"h2-compression"}, func(f *framed, id uint32) bool {
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte{0xff, 0x7f}, EndHeaders: true}) == nil
	}},
	{"no status", []string{spec.ErrMalformed}, func(f *framed, id uint32) bool { return f.head(id, true, "x", "y") }},
	{"another status", []string{spec.ErrStatus}, func(f *framed, id uint32) bool { return f.head(id, true, ":status", "500") }},
	{"another body", []string{spec.ErrBody}, func(f *framed, id uint32) bool {
		return f.head(id, false, ":status", "200") && f.WriteData(id, true, []byte("hellu")) == nil
	}},
	{"another length", []string{spec.ErrLength}, func(f *framed, id uint32) bool {
		return f.head(id, false, ":status", "200") && f.WriteData(id, true, []byte("hell")) == nil
	}},
	{"less than announced", []string{spec.ErrLength}, func(f *framed, id uint32) bool {
		return f.head(id, false, ":status", "200", "content-length", "9") && f.WriteData(id, true, []byte("hello")) == nil
	}},
	{"without end", []string{spec.ErrEndless}, func(f *framed, id uint32) bool {
		piece := make([]byte, 16<<10)
		ok := f.head(id, false, ":status", "200")
		for range 5 {
			ok = ok && f.WriteData(id, false, piece) == nil
		}
		return ok
	}},
}

// Errors of HTTP/2 servers are counted under their names, and the run continues.
func TestFramesThatMisbehave(t *testing.T) {
	const at = 10 // requests of a connection before it happens
	for _, tc := range framesThatMisbehave {
		t.Run(tc.name, func(t *testing.T) {
			s := serveFrames(t, nil, func(f *framed, id uint32, n int) bool {
				if n%at == 0 {
					return tc.do(f, id)
				}
				return f.good(id)
			})
			order := framesSpec(s.addr)
			order.MaxBody = 64 << 10
			order.Request = []byte(postRequest) // not sent again
			l := drive(t, order, func(c *tally.Counters) bool { return c.Failures() >= 20 && c.Requests >= 50 })
			e := errorsOf(&l.rec.Counters)
			for kind := range e {
				if !slices.Contains(tc.kinds, kind) {
					t.Errorf("errors %v, want %v", e, tc.kinds)
				}
			}
			if slices.Contains(tc.kinds, spec.ErrGoaway) && e[spec.ErrGoaway] == 0 {
				t.Errorf("errors %v, want %s", e, spec.ErrGoaway)
			}
		})
	}
}

// A server that answers all accepted requests before it closes makes no error: the
// connection is replaced.
func TestGoawayInGoodOrder(t *testing.T) {
	s := serveFrames(t, nil, func(f *framed, id uint32, n int) bool {
		if n == 12 && !f.leave(id, http2.ErrCodeNo) {
			return false
		}
		return f.good(id)
	})
	order := framesSpec(s.addr)
	order.Streams = 1
	l := drive(t, order, func(c *tally.Counters) bool { return c.Requests >= 300 })
	if e := errorsOf(&l.rec.Counters); len(e) > 0 || l.rec.Connects < 300/12 {
		t.Errorf("errors %v, %d connections", e, l.rec.Connects)
	}
}

// A server that allows fewer streams than there are requesters gets as many as it allows,
// and all requesters send.
func TestFewerStreamsThanRequesters(t *testing.T) {
	for loop, arrivals := range map[string]*arrive.Plan{"closed": nil, "open": {Rate: 2000}} {
		t.Run(loop, func(t *testing.T) {
			s := serveFrames(t, []http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: 2}}, func(f *framed, id uint32, _ int) bool {
				return f.good(id)
			})
			order := scenarioSpec(s.addr, "variables: {n: {counter: 1}}\ntargets: [{url: '/${n}'}]\n")
			order.HTTP2, order.Streams, order.Arrivals = true, 7, arrivals
			l, err := newLoop(context.Background(), order)
			if err != nil {
				t.Fatal(err)
			}
			defer shut(t, l)
			l.start()
			asked := map[*scenario.User]bool{}
			for bound := l.Now() + int64(2*time.Minute); l.rec.Requests < 300 || len(asked) < 7*order.Connections; {
				if err := l.Until(l.Now() + int64(100*time.Microsecond)); err != nil || l.Now() > bound {
					t.Fatalf("%d right, %d users asked, %v", l.rec.Requests, len(asked), err)
				}
				for i := range l.conns {
					m := l.conns[i].mux
					if m.under > 2 || m.granted > 2 {
						t.Fatalf("%d streams, %d permits", m.under, m.granted)
					}
					for k := range m.requesters {
						if s := &m.requesters[k]; len(s.turn.targets) > 0 {
							asked[s.turn.user] = true
						}
					}
				}
			}
			if e := errorsOf(&l.rec.Counters); len(e) > 0 {
				t.Errorf("errors %v", e)
			}
		})
	}
}

// A missing answer resets its stream, and nothing else of the connection. It is the clock of the
// loop that passes the timeout: a process that is not scheduled for so long would replace it.
func TestFramesStall(t *testing.T) {
	s := serveFrames(t, nil, func(f *framed, id uint32, n int) bool { return n == 7 || f.good(id) })
	order := framesSpec(s.addr)
	l, err := newLoop(context.Background(), order)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, l)
	l.start()
	step := func(what string, done func(m *mux) bool) {
		t.Helper()
		for bound := l.Now() + int64(30*time.Second); slices.ContainsFunc(l.conns, func(c conn) bool { return !done(c.mux) }); {
			if err := l.Until(l.Now() + int64(time.Millisecond)); err != nil || l.Now() > bound {
				t.Fatalf("%s: counted %+v, %v", what, l.rec.Counters, err)
			}
		}
	}
	step("requests", func(m *mux) bool { return m.asked >= 50 })
	l.draining = true
	step("all answers but one", func(m *mux) bool { return m.under == 1 })
	l.base = l.base.Add(-2 * time.Minute)
	l.nextScan = 0
	l.thread.Slept(l.Now(), l.Now())
	if err := l.Until(l.Now() + int64(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if e, n := errorsOf(&l.rec.Counters), uint64(order.Connections); len(e) != 1 || e[spec.ErrTimeout] != n || l.rec.Connects != n {
		t.Errorf("errors %v, %d connections", e, l.rec.Connects)
	}
	if n := l.flight.Count(); n != 0 || l.standing != order.Connections || l.outstanding() != 0 {
		t.Errorf("%d requests in flight, %d connections of which %d are waited for", n, l.standing, l.outstanding())
	}
}

// If nothing at all is received, the connection is replaced.
func TestFramesStallAll(t *testing.T) {
	s := serveFrames(t, nil, func(f *framed, id uint32, n int) bool { return n > 20 || f.good(id) })
	order := framesSpec(s.addr)
	order.Timeout, order.Persist = 1500*time.Millisecond, true // long enough for the server to be scheduled
	// More failures than requests can be open at once.
	l := drive(t, order, func(c *tally.Counters) bool { return c.Failures() >= 13 && c.Requests >= 100 })
	if e := errorsOf(&l.rec.Counters); len(e) != 1 || e[spec.ErrTimeout] == 0 {
		t.Errorf("errors %v", e)
	}
	if l.rec.Connects <= uint64(order.Connections) {
		t.Errorf("%d connections", l.rec.Connects)
	}
}

// In an open loop each arrival that meets an error has failed, and the counts add up.
func TestFramesOpenLoopErrors(t *testing.T) {
	s := serveFrames(t, nil, func(f *framed, id uint32, n int) bool {
		switch {
		case n == 40:
			return false
		case n%10 == 0:
			return f.WriteRSTStream(id, http2.ErrCodeInternal) == nil
		}
		return f.good(id)
	})
	order := framesSpec(s.addr)
	order.Window, order.Tick, order.Arrivals = 500*time.Millisecond, 100*time.Millisecond, &arrive.Plan{Rate: 1000}
	res := runOpen(t, order)
	right := uint64(decode(t, res.Histogram).TotalCount())
	if want := due(order); res.Open.Due != want || right+res.Open.Failed != want || res.Open.Failed == 0 || res.Errors["h2-reset"] == 0 {
		t.Errorf("%d due, %d right, %d failed, errors %v", res.Open.Due, right, res.Open.Failed, res.Errors)
	}
}

// Over HTTP/2 the loop does not allocate either once it has its buffers. Neither does the
// server, which is in this process: it patches one answer.
func TestFramesAllocate(t *testing.T) {
	// :status 200 and content-length: 5 as literals that enter no table, then the body.
	answer := []byte("\x00\x00\x06\x01\x04\x00\x00\x00\x00" + "\x88\x0f\x0d\x01\x35" + "\x00")
	answer = append(answer[:len(answer)-1], "\x00\x00\x05\x00\x01\x00\x00\x00\x00hello"...)
	answer[2] = 5
	body := 9 + 5
	s := serve(t, func(_ *scripted, c *net.TCPConn) {
		in, out := make([]byte, 1<<14), bytes.Clone(answer)
		if _, err := io.ReadFull(c, in[:len(http2.ClientPreface)]); err != nil || !say(c, "\x00\x00\x00\x04\x00\x00\x00\x00\x00") {
			return
		}
		for {
			if _, err := io.ReadFull(c, in[:9]); err != nil {
				return
			}
			size, kind := int(in[0])<<16|int(in[1])<<8|int(in[2]), in[3]
			copy(out[5:9], in[5:9])
			copy(out[body+5:body+9], in[5:9])
			if _, err := io.ReadFull(c, in[:size]); err != nil {
				return
			}
			if kind != byte(http2.FrameHeaders) {
				continue
			}
			if _, err := c.Write(out); err != nil {
				return
			}
		}
	})
	for name, order := range map[string]*spec.Spec{
		"one request": framesSpec(s.addr),
		"a scenario":  scenarioSpec(s.addr, "variables: {n: {counter: 1}}\ntargets: [{method: PUT, url: '/${n}', headers: {A: '${n}'}, body: 'x${n}', checks: [{body: {contains: hello}}]}]\n"),
	} {
		t.Run(name, func(t *testing.T) {
			order.HTTP2, order.Streams = true, 4
			l, err := newLoop(context.Background(), order)
			if err != nil {
				t.Fatal(err)
			}
			defer shut(t, l)
			wantFewAllocs(t, l)
			if e := errorsOf(&l.rec.Counters); len(e) > 0 {
				t.Errorf("errors %v, %v", e, l.cause)
			}
		})
	}
}
