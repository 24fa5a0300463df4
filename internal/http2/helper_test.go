package http2

import (
	"bytes"
	"encoding/binary"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/http2/hpack"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/transporttest"
)

// A peer is a client of one session, frame by frame. What it receives it checks against the
// windows that it has granted and the states of streams.
type peer struct {
	t       testing.TB
	f       *transporttest.Fake
	s       *Session
	enc     hpack.Encoder
	dec     hpack.Decoder
	seen    int // bytes of the output that were read
	window  int64
	initial int64
	streams map[uint32]*reply
	gone    []goneAway
	acks    int // of PING and SETTINGS
	settled bool
}

// A reply is what the peer has received on a stream.
type reply struct {
	infos   []string
	status  string
	header  []string // "name: value"
	trailer []string
	body    []byte
	window  int64
	granted int64 // by WINDOW_UPDATE of the server
	ended   bool
	reset   bool
	code    Code
}

type goneAway struct {
	last uint32
	code Code
}

// newPeer connects to a session with a handler, and says hello.
func newPeer(t testing.TB, seed uint64, h exchange.Handler, change ...func(*exchange.Config)) *peer {
	cfg := &exchange.Config{
		Handler: h, HighWater: 64 << 10, HeaderTimeout: time.Hour, StallTimeout: 2 * time.Hour, IdleTimeout: 4 * time.Hour,
	}
	cfg.Limits = cfg.Limits.WithDefaults()
	for _, f := range change {
		f(cfg)
	}
	p := &peer{t: t, window: defaultWindow, initial: defaultWindow, streams: map[uint32]*reply{}}
	p.enc.Init()
	p.dec.Init(defaultPeerTable)
	p.f = transporttest.NewFake(t, seed, func(c transport.Conn) transport.Session {
		p.s = NewSession(c, cfg)
		return p.s
	})
	p.f.SendString(Preface)
	p.frame(frameSettings, 0, 0, nil)
	return p
}

// frame sends a frame.
func (p *peer) frame(kind, flags byte, id uint32, payload []byte) *peer {
	p.f.Send(append(appendFrame(nil, len(payload), kind, flags, id), payload...))
	return p
}

// word sends a frame with a payload of 32 bits.
func (p *peer) word(kind byte, id, word uint32) *peer {
	switch {
	case kind == frameWindowUpdate && id == 0:
		p.window += int64(word)
	case kind == frameWindowUpdate:
		p.reply(id).window += int64(word)
	}
	p.f.Send(appendWord(nil, kind, id, word))
	return p
}

// block encodes fields: name, value, name, value.
func (p *peer) block(fields ...string) []byte {
	b := p.enc.Begin(nil)
	for i := 0; i+1 < len(fields); i += 2 {
		b = p.enc.Field(b, fields[i], fields[i+1])
	}
	return b
}

// get are the pseudo-header fields of a request, and more fields.
func request(method, path string, more ...string) []string {
	return append([]string{":method", method, ":scheme", "http", ":authority", "h", ":path", path}, more...)
}

// headers sends a header block whose fields are given.
func (p *peer) headers(id uint32, end bool, fields ...string) *peer {
	flags := byte(flagEndHeaders)
	if end {
		flags |= flagEndStream
	}
	return p.frame(frameHeaders, flags, id, p.block(fields...))
}

// large is headers for a block that needs several frames.
func (p *peer) large(id uint32, end bool, fields ...string) *peer {
	block, kind, flags := p.block(fields...), byte(frameHeaders), byte(0)
	if end {
		flags = flagEndStream
	}
	for len(block) > defaultMaxFrame {
		p.frame(kind, flags, id, block[:defaultMaxFrame])
		block, kind, flags = block[defaultMaxFrame:], frameContinuation, 0
	}
	return p.frame(kind, flags|flagEndHeaders, id, block)
}

// get sends a request without content.
func (p *peer) get(id uint32, path string) *peer { return p.headers(id, true, request("GET", path)...) }

// data sends content.
func (p *peer) data(id uint32, end bool, content string) *peer {
	flags := byte(0)
	if end {
		flags = flagEndStream
	}
	return p.frame(frameData, flags, id, []byte(content))
}

func (p *peer) reply(id uint32) *reply {
	r := p.streams[id]
	if r == nil {
		r = &reply{window: p.initial, granted: streamWindow}
		p.streams[id] = r
	}
	return r
}

// run lets everything happen that can, and reads what has come.
func (p *peer) run() *peer {
	p.t.Helper()
	p.f.Run()
	p.readAll()
	return p
}

// wait runs until ok holds.
func (p *peer) wait(what string, ok func() bool) {
	p.t.Helper()
	p.f.Wait(what, func() bool {
		p.readAll()
		if ok() {
			return true
		}
		if closed, why := p.f.Closed(); closed && !strings.Contains(what, "handlers") {
			p.t.Fatalf("the connection ends (%v, %v) before %s", why, p.gone, what)
		}
		return false
	})
}

// whole waits for the end of a stream, and returns it.
func (p *peer) whole(id uint32) *reply {
	p.t.Helper()
	r := p.reply(id)
	p.wait("stream "+strconv.Itoa(int(id))+" ends", func() bool { return r.ended || r.reset })
	return r
}

// readAll reads the frames that have come.
func (p *peer) readAll() {
	p.t.Helper()
	out := p.f.Output()
	for {
		f, n, tooLong := parseFrame(out[p.seen:])
		if tooLong {
			p.t.Fatalf("the session sends a frame of more than %d bytes", defaultMaxFrame)
		}
		if n == 0 {
			return
		}
		p.seen += n
		p.take(&f)
	}
}

func (p *peer) take(f *frame) {
	p.t.Helper()
	if !p.settled && f.kind != frameSettings {
		p.t.Fatalf("the session begins with a frame of type %d", f.kind)
	}
	word := func() uint32 { return binary.BigEndian.Uint32(f.payload) }
	switch f.kind {
	case frameSettings, framePing:
		p.settled = true
		if f.has(flagAck) {
			p.acks++
		}
	case frameGoAway:
		p.gone = append(p.gone, goneAway{word(), Code(binary.BigEndian.Uint32(f.payload[4:]))})
	case frameWindowUpdate:
		if f.stream != 0 {
			p.reply(f.stream).granted += int64(word())
		}
	case frameReset:
		r := p.reply(f.stream)
		r.reset, r.code = true, Code(word())
	case frameHeaders:
		if !f.has(flagEndHeaders) {
			p.t.Fatal("a head is cut into frames: this peer does not put it together")
		}
		p.head(p.open(f), f)
	case frameData:
		r := p.open(f)
		n := int64(len(f.payload))
		if p.window, r.window = p.window-n, r.window-n; p.window < 0 || r.window < 0 {
			p.t.Fatalf("stream %d exceeds a window: of the connection %d are left, of the stream %d", f.stream, p.window, r.window)
		}
		r.body = append(r.body, f.payload...)
		r.ended = f.has(flagEndStream)
	default:
		p.t.Fatalf("the session sends a frame of type %d", f.kind)
	}
}

// open returns the stream of a frame, on which nothing has ended.
func (p *peer) open(f *frame) *reply {
	p.t.Helper()
	r := p.reply(f.stream)
	if r.ended || r.reset {
		p.t.Fatalf("a frame of type %d follows the end of stream %d", f.kind, f.stream)
	}
	return r
}

func (p *peer) head(r *reply, f *frame) {
	p.t.Helper()
	text, fields, _, err := p.dec.Decode(f.payload, nil, nil, 1<<20, 1000)
	if err != nil {
		p.t.Fatal(err)
	}
	var lines []string
	for _, f := range fields {
		lines = append(lines, string(f.Name.Of(text))+": "+string(f.Value.Of(text)))
	}
	switch status, isHead := strings.CutPrefix(lines[0], ":status: "); {
	case !isHead:
		r.trailer = lines
	case status[0] == '1':
		r.infos = append(r.infos, status)
	default:
		r.status, r.header = status, lines[1:]
	}
	r.ended = f.has(flagEndStream)
}

// want waits for a response and compares it.
func (p *peer) want(id uint32, status, body string) *reply {
	p.t.Helper()
	r := p.whole(id)
	if r.status != status || string(r.body) != body || r.reset && r.code != NoError {
		p.t.Errorf("stream %d: %q %.80q, reset %v (%v), want %s %.80q", id, r.status, r.body, r.reset, r.code, status, body)
	}
	return r
}

// wantReset waits for the end of a stream with a code.
func (p *peer) wantReset(id uint32, code Code) *reply {
	p.t.Helper()
	r := p.whole(id)
	if !r.reset || r.code != code {
		p.t.Errorf("stream %d: %q, reset %v (%v), want it reset with %v", id, r.status, r.reset, r.code, code)
	}
	return r
}

// wantGone waits for GOAWAY and the end of the connection.
func (p *peer) wantGone(code Code) {
	p.t.Helper()
	p.wait("the connection is closed", func() bool { closed, _ := p.f.Closed(); return closed })
	if n := len(p.gone); n == 0 || p.gone[n-1].code != code {
		p.t.Errorf("GOAWAY: %v, want %v", p.gone, code)
	}
}

// alive wants the connection to serve another request.
func (p *peer) alive(id uint32) {
	p.t.Helper()
	p.get(id, "/ok")
	p.want(id, "200", "ok")
}

// close ends the connection, and waits for its streams.
func (p *peer) close() {
	p.t.Helper()
	p.f.End()
	p.wait("the connection is closed", func() bool { closed, _ := p.f.Closed(); return closed })
	p.wait("all handlers have returned", func() bool {
		p.s.mu.Lock()
		defer p.s.mu.Unlock()
		return p.s.open == 0 || len(p.s.streams) == 0
	})
}

// routes answers by path.
type routes map[string]func(*exchange.Exchange)

func (h routes) ServeExchange(x *exchange.Exchange) {
	if f, ok := h[string(x.PathBytes())]; ok {
		f(x)
		return
	}
	x.Body = append(x.Body, "ok"...)
}

// content reads the content of a request.
func content(x *exchange.Exchange) (string, error) {
	var b bytes.Buffer
	p := make([]byte, 1000)
	for {
		n, err := x.Session.ReadBody(x, p)
		b.Write(p[:n])
		if err == io.EOF {
			return b.String(), nil
		}
		if err != nil {
			return b.String(), err
		}
	}
}
