package subscribe

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/spec"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// framed is one connection of a scripted HTTP/2 server.
type framed struct {
	*http2.Framer
	conn  net.Conn
	n     int64 // number of the connection
	block bytes.Buffer
	enc   *hpack.Encoder
}

// head begins the answer to a stream.
func (f *framed) head(id uint32, end bool, fields ...string) bool {
	f.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = f.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}) // to memory
	}
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: f.block.Bytes(), EndHeaders: true, EndStream: end}) == nil
}

// stands sends the head of a stream of events.
func (f *framed) stands(id uint32) bool {
	return f.head(id, false, ":status", "200", "content-type", "text/event-stream")
}

// events sends events from one id to another on a stream.
func (f *framed) events(id uint32, from, to int, end bool) bool {
	var b strings.Builder
	for n := from; n <= to; n++ {
		fmt.Fprintf(&b, "id: %d\ndata: x\n\n", n)
	}
	return f.WriteData(id, end, []byte(b.String())) == nil
}

// serveFrames is a server in clear that runs the script for each request. A script that
// returns false ends its connection. Reset streams are counted.
func serveFrames(t *testing.T, settings []http2.Setting, script func(f *framed, id uint32, lastID string) bool) (addr string, resets *atomic.Int64) {
	t.Helper()
	resets = new(atomic.Int64)
	var n atomic.Int64
	return serveEach(t, func(c net.Conn) {
		hello := make([]byte, len(http2.ClientPreface))
		if _, err := io.ReadFull(c, hello); err != nil || string(hello) != http2.ClientPreface {
			return
		}
		f := &framed{Framer: http2.NewFramer(c, c), conn: c, n: n.Add(1)}
		f.enc = hpack.NewEncoder(&f.block)
		f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		if f.WriteSettings(settings...) == nil {
			f.follow(resets, script)
		}
	}), resets
}

// follow answers until the connection ends.
func (f *framed) follow(resets *atomic.Int64, script func(f *framed, id uint32, lastID string) bool) {
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() && f.WriteSettingsAck() != nil {
				return
			}
		case *http2.RSTStreamFrame:
			resets.Add(1)
		case *http2.MetaHeadersFrame:
			lastID := ""
			for _, field := range frame.RegularFields() {
				if field.Name == "last-event-id" {
					lastID = field.Value
				}
			}
			if !script(f, frame.StreamID, lastID) {
				// A reset would overtake the sent bytes.
				_ = f.conn.(*net.TCPConn).CloseWrite()
				_, _ = io.Copy(io.Discard, f.conn)
				return
			}
		}
	}
}

// framesLoop returns a loop with two subscribers on each connection.
func framesLoop(t *testing.T, addr string, subscribers int) *Loop {
	t.Helper()
	return loopOf(t, Options{
		Addr: addr, Subscribers: subscribers, HTTP2: true, Share: 2, Config: spec.Subscribe{ID: "@id", Retry: time.Millisecond, Ends: true},
	}, none{})
}

// After GOAWAY a stream continues to its end, and then the subscriber reconnects on another
// connection with the id of its last event.
func TestGoaway(t *testing.T) {
	var wrong atomic.Int64
	addr, _ := serveFrames(t, nil, func(f *framed, id uint32, lastID string) bool {
		switch {
		case f.n > 1:
			if lastID != "8" {
				wrong.Add(1)
			}
			return f.stands(id) && f.events(id, 9, 10, false)
		case id == 1:
			return f.stands(id) && f.events(id, 1, 4, false)
		}
		return f.stands(id) && f.events(id, 1, 4, false) &&
			f.WriteGoAway(3, http2.ErrCodeNo, nil) == nil &&
			f.events(1, 5, 8, true) && f.events(3, 5, 8, true)
	})
	l := framesLoop(t, addr, 2)
	drive(t, l, func(c *Counts) bool { return c.Events == 20 })
	if c := l.Counts(); c.Missed+c.Duplicated+c.Failures() != 0 || c.Ends != 2 || c.Connects != 2 || c.Reconnects != 2 || wrong.Load() != 0 || l.Standing() != 2 {
		t.Errorf("%+v, %d asked for others than the next, %d standing", *c, wrong.Load(), l.Standing())
	}
}

// While streams continue on a connection after GOAWAY, other subscribers of the group
// reconnect on another connection.
func TestGoawayLingers(t *testing.T) {
	addr, _ := serveFrames(t, nil, func(f *framed, id uint32, _ string) bool {
		switch {
		case f.n > 1:
			return f.stands(id) && f.events(id, 5, 6, false)
		case id == 1:
			return f.stands(id) && f.events(id, 1, 4, false)
		}
		return f.stands(id) && f.WriteGoAway(3, http2.ErrCodeNo, nil) == nil && f.events(id, 1, 4, true)
	})
	l := framesLoop(t, addr, 2)
	drive(t, l, func(c *Counts) bool { return c.Events == 10 })
	if c := l.Counts(); c.Failures() != 0 || c.Missed != 0 || c.Ends != 1 || c.Connects != 2 || l.Standing() != 2 {
		t.Errorf("%+v, %d standing", *c, l.Standing())
	}
}

// Each way in which an HTTP/2 server ends streams is counted under its name, once for each
// subscriber affected, and the subscribers reconnect.
func TestFrames(t *testing.T) {
	for _, c := range []struct {
		name string
		// do answers the second stream of the first connection; the first stream is
		// established, and has received an event.
		do       func(f *framed, id uint32) bool
		want     map[string]uint64
		connects uint64
		detail   string
	}{
		{"reset", func(f *framed, id uint32) bool {
			return f.stands(id) && f.WriteRSTStream(id, http2.ErrCodeInternal) == nil
		}, map[string]uint64{"h2-reset": 1}, 1, "the server reset the stream (INTERNAL_ERROR)"},
		{"refused", func(f *framed, id uint32) bool {
			return f.WriteRSTStream(id, http2.ErrCodeRefusedStream) == nil
		}, map[string]uint64{"h2-refused": 1}, 1, "REFUSED_STREAM"},
		{"status", func(f *framed, id uint32) bool { return f.head(id, true, ":status", "503") }, map[string]uint64{"status": 1}, 1, "status 503"},
		{"redirect", func(f *framed, id uint32) bool {
			return f.head(id, true, ":status", "307", "location", "/there")
		}, map[string]uint64{"redirect": 1}, 1, "/there"},
		{"media type", func(f *framed, id uint32) bool {
			return f.head(id, false, ":status", "200", "content-type", "text/html")
		}, map[string]uint64{"media type": 1}, 1, "text/html"},
		{"no status", func(f *framed, id uint32) bool { return f.head(id, false, "server", "x") }, map[string]uint64{"malformed": 1}, 1, "without a status"},
		{"less than announced", func(f *framed, id uint32) bool {
			return f.head(id, false, ":status", "200", "content-type", "text/event-stream", "content-length", "100") &&
				f.WriteData(id, true, []byte(":\n")) == nil
		}, map[string]uint64{"malformed": 1}, 1, "less content than the answer announced"},
		{"closed", func(*framed, uint32) bool { return false }, map[string]uint64{"closed": 1, "short": 1}, 2, ""},
		{"leaves with an error", func(f *framed, id uint32) bool {
			_ = f.WriteGoAway(1, http2.ErrCodeInternal, nil)
			return false
		}, map[string]uint64{"h2-goaway": 1, "h2-refused": 1, "short": 1}, 2, ""},
		{"broken", func(f *framed, id uint32) bool {
			return f.WriteRawFrame(http2.FrameData, 0, 0, []byte("x")) == nil
		}, map[string]uint64{"h2-protocol": 2}, 2, "http2: connection"},
	} {
		t.Run(c.name, func(t *testing.T) {
			addr, resets := serveFrames(t, nil, func(f *framed, id uint32, lastID string) bool {
				if f.n == 1 && id == 3 {
					return c.do(f, id)
				}
				return f.stands(id) && f.events(id, 1, 1, false)
			})
			l := framesLoop(t, addr, 2)
			var failures uint64
			for _, n := range c.want {
				failures += n
			}
			drive(t, l, func(n *Counts) bool { return n.Failures() >= failures && l.Standing() == 2 })
			n := l.Counts()
			if got := fmt.Sprint(n.ByKind()); got != fmt.Sprint(c.want) || n.Connects != c.connects || !strings.Contains(l.book.cause(), c.detail) {
				t.Errorf("errors %s, %d connects, %q; want %v, %d, %q", got, n.Connects, l.book.cause(), c.want, c.connects, c.detail)
			}
			if c.name == "status" && resets.Load() != 0 {
				t.Errorf("%d resets of streams that had ended", resets.Load())
			}
		})
	}
}

// Status 204 retires one subscriber; the others on the connection stay.
func TestFramesRetire(t *testing.T) {
	addr, _ := serveFrames(t, nil, func(f *framed, id uint32, _ string) bool {
		if id == 3 {
			return f.head(id, true, ":status", "204")
		}
		return f.stands(id) && f.events(id, 1, 2, false)
	})
	l := framesLoop(t, addr, 4)
	drive(t, l, func(c *Counts) bool { return c.Retired == 2 && c.Events == 4 })
	if c := l.Counts(); c.Failures() != 0 || c.Connects != 2 || l.Standing() != 2 || l.Expected() != 2 {
		t.Errorf("%+v, %d standing", *c, l.Standing())
	}
}

// If a connection stops answering, requests use another one; established streams stay on
// the first.
func TestFramesSilent(t *testing.T) {
	addr, resets := serveFrames(t, nil, func(f *framed, id uint32, _ string) bool {
		if f.n == 1 && id > 1 {
			return true // nothing
		}
		return f.stands(id) && f.events(id, 1, 1, false)
	})
	l := framesLoop(t, addr, 2)
	l.book.timeout = int64(time.Second)
	drive(t, l, func(c *Counts) bool { return c.Events == 2 && l.Standing() == 2 })
	c := l.Counts()
	if c.Errors[Timeout] == 0 || c.Failures() != c.Errors[Timeout] || c.Connects < 2 {
		t.Errorf("%+v", *c)
	}
	drive(t, l, func(*Counts) bool { return resets.Load() > 0 })
}

// A stall ends only its own stream.
func TestFramesStall(t *testing.T) {
	addr, resets := serveFrames(t, nil, func(f *framed, id uint32, lastID string) bool {
		if id == 3 && lastID == "" {
			return f.stands(id) && f.events(id, 1, 1, false) // then nothing
		}
		return f.stands(id) && f.events(id, 2, 2, false)
	})
	l := framesLoop(t, addr, 2)
	l.book.config.Stall = time.Second
	drive(t, l, func(c *Counts) bool { return c.Errors[Stall] >= 2 && c.Reconnects >= 2 })
	if c := l.Counts(); c.Failures() != c.Errors[Stall] {
		t.Errorf("errors %v", c.ByKind())
	}
	drive(t, l, func(*Counts) bool { return resets.Load() > 0 })
}

// The error explains that the server accepts too few streams.
func TestFramesFew(t *testing.T) {
	addr, _ := serveFrames(t, []http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: 1}}, func(f *framed, id uint32, _ string) bool {
		return f.stands(id)
	})
	l := framesLoop(t, addr, 2)
	var err error
	for err == nil && l.Now() < int64(20*time.Second) {
		err = l.Until(l.Now() + int64(5*time.Millisecond))
	}
	if err == nil || !strings.Contains(err.Error(), "the server accepts 1 streams on a connection") || !strings.Contains(err.Error(), "write --streams 1") {
		t.Errorf("error %v", err)
	}
}

// The rate of connections limits connections, not the subscribers that share one.
func TestFramesRate(t *testing.T) {
	addr, _ := serveFrames(t, nil, func(f *framed, id uint32, _ string) bool { return f.stands(id) })
	l := loopOf(t, Options{Addr: addr, Subscribers: 6, HTTP2: true, Share: 3, ConnectRate: 1e-3}, none{})
	drive(t, l, func(*Counts) bool { return l.Standing() == 3 })
	if c := l.Counts(); c.Connects != 1 {
		t.Errorf("%d connects", c.Connects)
	}
}
